from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import Session, User
from config.crypto import sha256
from tests.accounts.conftest import SignIn, mailed_code, with_token

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANN = {"email": "ann@example.com"}

pytestmark = pytest.mark.django_db


def _code(api: APIClient, email: str = "ann@example.com", **extra: Any) -> str:
    return str(api.post("/auth/request", {"email": email}, format="json", **extra).json()["devCode"])


def _wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06d}"


def _verify(api: APIClient, code: object, email: object = "ann@example.com", **body: Any) -> Any:
    return api.post("/auth/verify", {"email": email, "code": code, **body}, format="json")


def test_a_right_code_gives_a_token_and_the_user(api: APIClient) -> None:
    answer = _verify(api, _code(api))
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"token", "user"}
    assert set(body["user"]) == {"id", "email"}
    assert body["user"]["id"].startswith("usr_")
    assert body["user"]["email"] == "ann@example.com"
    assert with_token(body["token"]).get("/me").json() == {"user": body["user"]}


def test_the_mailed_code_is_the_one_that_works(api: APIClient) -> None:
    shown = _code(api)
    assert mailed_code() == shown


def test_the_second_sign_in_is_the_same_user_with_another_token(api: APIClient) -> None:
    first = _verify(api, _code(api)).json()
    second = _verify(api, _code(api, "ANN@Example.com"), "Ann@EXAMPLE.com").json()
    assert first["user"] == second["user"]
    assert first["token"] != second["token"]
    assert User.objects.count() == 1


def test_an_international_domain_is_one_account_in_all_its_spellings(api: APIClient) -> None:
    first = _verify(api, _code(api, "ann@BÜCHER.example"), "ann@xn--bcher-kva.example").json()["user"]
    assert first["email"] == "ann@xn--bcher-kva.example"


def test_the_token_is_stored_as_a_digest_alone(api: APIClient) -> None:
    token = _verify(api, _code(api)).json()["token"]
    session = Session.objects.get()
    assert session.digest == sha256(token)
    assert token not in str(vars(session))


def test_a_code_works_once(api: APIClient) -> None:
    code = _code(api)
    assert _verify(api, code).status_code == 200
    again = _verify(api, code)
    assert again.status_code == 401
    assert again.json()["error"] == "UNAUTHORIZED"


def test_wrong_digits_on_a_live_code_are_an_invalid_code(api: APIClient) -> None:
    code = _code(api)
    wrong = _verify(api, _wrong(code))
    assert wrong.status_code == 401
    assert wrong.json()["error"] == "INVALID_CODE"
    assert wrong["WWW-Authenticate"] == "Bearer"
    assert _verify(api, code).status_code == 200


def test_without_a_live_code_the_answer_says_to_request_one(api: APIClient) -> None:
    answer = _verify(api, "123456")
    assert answer.status_code == 401
    assert answer.json()["error"] == "UNAUTHORIZED"
    assert "POST /auth/request" in answer.json()["message"]


def test_a_code_lives_ten_minutes(api: APIClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        code = _code(api)
        clock.shift(timedelta(minutes=10) - timedelta(milliseconds=1))
        assert _verify(api, _wrong(code)).json()["error"] == "INVALID_CODE"
        clock.shift(timedelta(milliseconds=1))
        assert _verify(api, code).json()["error"] == "UNAUTHORIZED"


def test_a_new_code_ends_the_one_before(api: APIClient) -> None:
    first, second = _code(api), _code(api)
    if first != second:
        assert _verify(api, first).json()["error"] == "INVALID_CODE"
    assert _verify(api, second).status_code == 200


def test_a_code_works_for_its_own_mailbox_only(api: APIClient) -> None:
    code = _code(api)
    _code(api, "bob@example.com")
    while _code(api, "bob@example.com", REMOTE_ADDR="192.0.2.1") == code:
        pass
    assert _verify(api, code, "bob@example.com").json()["error"] == "INVALID_CODE"


def test_ten_tries_in_ten_minutes_from_one_address(api: APIClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(10):
            assert _verify(api, "123456").status_code == 401
        refused = _verify(api, "123456")
        assert refused.status_code == 429
        assert refused["Retry-After"] == "600"
        clock.shift(600)
        assert _verify(api, "123456").status_code == 401


def test_a_session_lives_thirty_days(api: APIClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        client = with_token(_verify(api, _code(api)).json()["token"])
        clock.shift(timedelta(days=30) - timedelta(seconds=1))
        assert client.get("/me").status_code == 200
        clock.shift(timedelta(seconds=1))
        expired = client.get("/me")
        assert expired.status_code == 401
        assert expired.json()["error"] == "UNAUTHORIZED"
        assert "POST /auth/request" in expired.json()["message"]


def test_a_suspended_account_does_not_sign_in_and_is_told_whom_to_write_to(api: APIClient, settings: Settings) -> None:
    settings.SUPPORT_EMAIL = "help@example.com"
    _verify(api, _code(api))
    User.objects.update(is_active=False)
    refused = _verify(api, _code(api))
    assert refused.status_code == 401
    told = "this account is suspended: write to help@example.com"
    assert refused.json() == {"error": "UNAUTHORIZED", "message": told}
    assert Session.objects.count() == 1


FULL = {
    "anonId": "a-1",
    "utmSource": "news",
    "utmMedium": "",
    "utmCampaign": None,
    "referrer": "https://x.example/?q=ж",
}


def test_attribution_is_stored_with_the_sign_in_and_the_first_with_the_user(sign_in: SignIn) -> None:
    sign_in(attribution=FULL)
    sign_in(attribution={"anonId": "a-2"})
    stored = {
        "anon_id": "a-1",
        "utm_source": "news",
        "utm_medium": "",
        "utm_campaign": None,
        "referrer": "https://x.example/?q=ж",
    }
    assert User.objects.get().attribution == stored
    second, first = Session.objects.all()
    assert first.attribution == stored
    assert second.attribution is not None
    assert second.attribution["anon_id"] == "a-2"


def test_attribution_may_come_later_be_null_or_stay_away(sign_in: SignIn) -> None:
    sign_in()
    sign_in(attribution=None)
    assert User.objects.get().attribution is None
    sign_in(attribution={"anonId": "late", "unknown": 1})
    assert (User.objects.get().attribution or {}).get("anon_id") == "late"


@pytest.mark.parametrize(
    ("attribution", "problem"),
    [
        (5, "attribution"),
        ("x", "attribution"),
        ([], "attribution"),
        ({}, "attribution.anonId: is missing, and this call needs it"),
        ({"anonId": None}, "attribution.anonId: came as null; give a value"),
        ({"anonId": ""}, "attribution.anonId: came blank; give a text"),
        ({"anonId": 5}, "attribution.anonId: must be a string, not a number"),
        ({"anonId": "x" * 3000}, "attribution.anonId: "),
        ({"anonId": "x", "utmSource": 5}, "attribution.utmSource: must be a string, not a number"),
        ({"anonId": "x", "utmMedium": []}, "attribution.utmMedium: must be a string, not an array"),
        ({"anonId": "x", "utmCampaign": {}}, "attribution.utmCampaign: must be a string, not an object"),
        ({"anonId": "x", "referrer": True}, "attribution.referrer: must be a string, not a boolean"),
        ({"anonId": "x", "referrer": "y" * 100_000}, "attribution.referrer: "),
    ],
)
def test_a_wrong_attribution_is_refused_by_name_and_uses_up_nothing(
    api: APIClient, attribution: object, problem: str
) -> None:
    code = _code(api)
    refused = _verify(api, code, attribution=attribution)
    assert refused.status_code == 400
    assert refused.json()["message"].startswith(problem)
    assert _verify(api, code).status_code == 200


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (None, "code: came as null; give a value"),
        (123456, "code: must be a string, not a number"),
        (True, "code: must be a string, not a boolean"),
        ([], "code: must be a string, not an array"),
        ("", "code: came blank; give a text"),
        ("12345", "code: must be exactly six digits"),
        ("1234567", "code: must be exactly six digits"),
        ("12345a", "code: must be exactly six digits"),
        (" 12345", "code: must be exactly six digits"),
        ("123456\n", "code: must be exactly six digits"),
        ("-12345", "code: must be exactly six digits"),
        ("١٢٣٤٥٦", "code: must be exactly six digits"),
        ("１２３４５６", "code: must be exactly six digits"),
        ("1" * 100_000, "code: must be exactly six digits"),
    ],
)
def test_a_wrong_code_text_is_refused_by_name(api: APIClient, code: object, problem: str) -> None:
    answer = _verify(api, code)
    assert answer.status_code == 400
    assert answer.json() == {"error": "BAD_REQUEST", "message": problem}


@pytest.mark.parametrize("email", [None, 5, [], {}, "", "x", "a@b@c", "x" * 100_000])
def test_a_wrong_email_is_refused_by_name(api: APIClient, email: object) -> None:
    answer = _verify(api, "123456", email)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("email: ")


@pytest.mark.parametrize("missing", ["email", "code"])
def test_a_missing_field_is_named(api: APIClient, missing: str) -> None:
    body = {"email": "ann@example.com", "code": "123456"}
    del body[missing]
    answer = api.post("/auth/verify", body, format="json")
    assert answer.json() == {"error": "BAD_REQUEST", "message": f"{missing}: is missing, and this call needs it"}


def test_nul_and_surrogates_are_refused(api: APIClient) -> None:
    for text in (r"\u0000", r"\ud800"):
        raw = f'{{"email": "ann@example.com", "code": "123456", "attribution": {{"anonId": "{text}"}}}}'
        answer = api.post("/auth/verify", raw, content_type="application/json")
        assert answer.status_code == 400
        assert "anonId" in answer.json()["message"]


def test_it_does_not_look_at_the_authorization_header(api: APIClient) -> None:
    code = _code(api)
    answer = api.post(
        "/auth/verify", {**ANN, "code": code}, format="json", headers={"authorization": "Bearer nonsense"}
    )
    assert answer.status_code == 200
