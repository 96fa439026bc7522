from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import mail
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import tasks
from accounts.models import SignInCode, User
from tests.accounts.conftest import mailed_code

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ANN = {"email": "ann@example.com"}

pytestmark = pytest.mark.django_db


def test_the_answer_is_202_with_the_code_where_codes_are_shown(api: APIClient) -> None:
    answer = api.post("/auth/request", ANN, format="json")
    assert answer.status_code == 202
    assert set(answer.json()) == {"ok", "devCode"}
    assert answer.json()["ok"] is True
    assert re.fullmatch(r"[0-9]{6}", answer.json()["devCode"])


def test_in_production_the_answer_is_the_same_for_those_with_and_without_an_account(
    api: APIClient, settings: Settings
) -> None:
    settings.SHOW_DEV_CODES = False
    User.objects.create_user("ann@example.com")
    with_account = api.post("/auth/request", ANN, format="json")
    without = api.post("/auth/request", {"email": "nobody@example.com"}, format="json")
    assert with_account.status_code == without.status_code == 202
    assert with_account.content == without.content == b'{"ok":true}'


def test_asking_for_a_code_does_not_look_at_accounts(
    api: APIClient, django_assert_num_queries: object, django_capture_on_commit_callbacks: object
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(
        connection,
    ) as queries:
        api.post("/auth/request", ANN, format="json")
    assert not [query for query in queries if "accounts_user" in query["sql"]]


def test_the_code_is_mailed_in_text_and_html(api: APIClient) -> None:
    code = api.post("/auth/request", ANN, format="json").json()["devCode"]
    tasks.send_codes()
    (message,) = mail.outbox
    assert message.to == ["ann@example.com"]
    assert code not in message.subject
    assert code in message.body
    assert "10 minutes" in message.body
    html, kind = message.alternatives[0]  # type: ignore[attr-defined]  # an EmailMultiAlternatives
    assert kind == "text/html"
    assert code in html
    assert "ann@example.com" in html


@pytest.mark.parametrize(
    ("accept", "subject"),
    [
        ("ru-RU,ru;q=0.9,en;q=0.8", "Ваш код для входа в Agentpods"),
        ("en;q=0.9,ru;q=0.1", "Your Agentpods sign-in code"),
        ("de", "Your Agentpods sign-in code"),
        ("", "Your Agentpods sign-in code"),
        ("; DROP", "Your Agentpods sign-in code"),
    ],
)
def test_the_mail_speaks_the_language_of_the_request(api: APIClient, accept: str, subject: str) -> None:
    api.post("/auth/request", ANN, format="json", headers={"accept-language": accept})
    tasks.send_codes()
    assert mail.outbox[0].subject == subject


def test_the_digits_are_encrypted_until_mailed_and_then_erased(api: APIClient) -> None:
    code = api.post("/auth/request", ANN, format="json").json()["devCode"]
    (before,) = _stored()
    assert code not in json.dumps(before)
    assert before["sealed"]
    tasks.send_codes()
    (after,) = _stored()
    assert after["sealed"] is None
    assert code not in json.dumps(after)


def _stored() -> list[dict[str, str | None]]:
    """The rows as they are in the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(c) FROM accounts_householdcode c")
        return [row if isinstance(row, dict) else json.loads(row) for (row,) in cursor.fetchall()]


def test_ten_requests_in_ten_minutes_and_the_eleventh_waits(api: APIClient) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for number in range(10):
            body = {"email": f"ann{number}@example.com"}
            assert api.post("/auth/request", body, format="json").status_code == 202
            clock.shift(30)
        refused = api.post("/auth/request", ANN, format="json")
        assert refused.status_code == 429
        assert refused.json()["error"] == "RATE_LIMITED"
        assert refused["Retry-After"] == "300"
        clock.shift(299)
        assert api.post("/auth/request", ANN, format="json").status_code == 429
        clock.shift(1)
        assert api.post("/auth/request", ANN, format="json").status_code == 202
        assert api.post("/auth/request", ANN, format="json").status_code == 429


def test_the_limit_is_by_address(api: APIClient) -> None:
    for _ in range(10):
        api.post("/auth/request", ANN, format="json", REMOTE_ADDR="192.0.2.1")
    assert api.post("/auth/request", ANN, format="json", REMOTE_ADDR="192.0.2.1").status_code == 429
    assert api.post("/auth/request", ANN, format="json", REMOTE_ADDR="192.0.2.2").status_code == 202


def test_a_stranger_cannot_choose_the_address_that_is_counted(api: APIClient) -> None:
    for number in range(10):
        api.post("/auth/request", ANN, format="json", headers={"x-forwarded-for": f"192.0.2.{number}"})
    answer = api.post("/auth/request", ANN, format="json", headers={"x-forwarded-for": "192.0.2.99"})
    assert answer.status_code == 429


def test_malformed_requests_do_not_count(api: APIClient) -> None:
    for _ in range(12):
        assert api.post("/auth/request", {"email": "nonsense"}, format="json").status_code == 400
    assert api.post("/auth/request", ANN, format="json").status_code == 202


def test_strangers_get_three_mails_an_hour_and_then_one_every_five_minutes(api: APIClient, settings: Settings) -> None:
    settings.SHOW_DEV_CODES = False
    with time_machine.travel(NOON, tick=False) as clock:
        for number in range(6):
            answer = api.post("/auth/request", ANN, format="json", REMOTE_ADDR=f"192.0.2.{number}")
            assert answer.status_code == 202
            tasks.send_codes()
        assert len(mail.outbox) == 3
        for number, mails in enumerate((4, 4, 5)):
            clock.shift(timedelta(minutes=5 if mails > len(mail.outbox) else 4))
            api.post("/auth/request", ANN, format="json", REMOTE_ADDR=f"198.51.100.{number}")
            tasks.send_codes()
            assert len(mail.outbox) == mails


def test_the_last_mailed_code_still_works_when_strangers_ask_for_more(api: APIClient, settings: Settings) -> None:
    settings.SHOW_DEV_CODES = False
    for number in range(10):
        api.post("/auth/request", ANN, format="json", REMOTE_ADDR=f"192.0.2.{number}")
    code = mailed_code()
    api.post("/auth/request", ANN, format="json", REMOTE_ADDR="192.0.2.77")
    assert api.post("/auth/verify", {**ANN, "code": code}, format="json").status_code == 200


def test_where_codes_are_shown_one_is_shown_even_past_the_limit_of_mails(api: APIClient) -> None:
    for number in range(10):
        api.post("/auth/request", ANN, format="json", REMOTE_ADDR=f"192.0.2.{number}")
        tasks.send_codes()
    code = api.post("/auth/request", ANN, format="json", REMOTE_ADDR="192.0.2.77").json()["devCode"]
    tasks.send_codes()
    assert len(mail.outbox) == 3
    assert api.post("/auth/verify", {**ANN, "code": code}, format="json").status_code == 200


@pytest.mark.parametrize(
    ("email", "problem"),
    [
        (None, "email: came as null; give a value"),
        (5, "email: must be a string, not a number"),
        (True, "email: must be a string, not a boolean"),
        (["ann@example.com"], "email: must be a string, not an array"),
        ({"a": 1}, "email: must be a string, not an object"),
        ("", "email: came blank; give a text"),
        ("ann", "email: must be an e-mail address such as ann@example.com"),
        ("@example.com", "email: must be an e-mail address such as ann@example.com"),
        ("ann@", "email: must be an e-mail address such as ann@example.com"),
        ("ann@@example.com", "email: must be an e-mail address such as ann@example.com"),
        (" ann@example.com", "email: must be an e-mail address such as ann@example.com"),
        ("ann@example.com\n", "email: must be an e-mail address such as ann@example.com"),
        ("ann@example.com\r\nBcc: eve@b.com", "email: the part before the @ must be ASCII letters, digits and signs"),
        ("ann@exa mple.com", "email: must be an e-mail address such as ann@example.com"),
        ("änn@example.com", "email: the part before the @ must be ASCII letters, digits and signs"),
        ("\u212aate@example.com", "email: the part before the @ must be ASCII letters, digits and signs"),
        ("ann@ex\u2028ample.com", "email: the domain after the @ is not a valid international domain name"),
        (f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 63}.com", "email: must have at most 254 characters"),
        (f"{'a' * 60_000}@example.com", "email: must have at most 254 characters"),
        (f"a@{'é' * 30_000}.com", "email: must have at most 254 characters"),
    ],
)
def test_a_wrong_email_is_refused_by_name(api: APIClient, email: object, problem: str) -> None:
    answer = api.post("/auth/request", {"email": email}, format="json")
    assert answer.status_code == 400
    assert answer.json() == {"error": "BAD_REQUEST", "message": problem}


@pytest.mark.parametrize("body", ["{}", '{"mail": "ann@example.com"}'])
def test_a_missing_email_is_named(api: APIClient, body: str) -> None:
    answer = api.post("/auth/request", body, content_type="application/json")
    assert answer.json() == {"error": "BAD_REQUEST", "message": "email: is missing, and this call needs it"}


@pytest.mark.parametrize("body", ["", "[]", '"x"', "null", "5", "{", '{"email": "ann\\u0000@example.com"}', "\xff"])
def test_a_body_that_is_no_object_is_refused(api: APIClient, body: str) -> None:
    answer = api.post("/auth/request", body.encode("latin-1"), content_type="application/json")
    assert answer.status_code == 400
    assert set(answer.json()) == {"error", "message"}


def test_it_does_not_look_at_the_authorization_header(api: APIClient) -> None:
    for header in ("Bearer ak_live_revoked", "Basic x", "\x01", "Bearer"):
        answer = api.post("/auth/request", ANN, format="json", headers={"authorization": header})
        assert answer.status_code == 202


def test_other_methods_are_refused_in_the_error_body(api: APIClient) -> None:
    answer = api.get("/auth/request")
    assert answer.status_code == 405
    assert answer.json()["error"] == "BAD_REQUEST"


@pytest.mark.usefixtures("redis_away")
def test_without_redis_codes_are_issued_mailed_and_limited(api: APIClient) -> None:
    for number in range(10):
        assert api.post("/auth/request", {"email": f"ann{number}@example.com"}, format="json").status_code == 202
    assert api.post("/auth/request", ANN, format="json").status_code == 429
    assert mailed_code()


def test_one_mailbox_has_one_row_however_its_address_is_spelled(api: APIClient) -> None:
    for email in ("Ann@BÜCHER.example", "ann@bücher.example", "ANN@xn--bcher-kva.EXAMPLE"):
        assert api.post("/auth/request", {"email": email}, format="json").status_code == 202
    assert [code.email for code in SignInCode.objects.all()] == ["ann@xn--bcher-kva.example"]
