"""A person types the code of a device, and says what its program may do (RFC 8628)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import ApiKey, User
from accounts.oauth.models import OAuthClient, OAuthGrant
from tests.accounts.conftest import with_token
from tests.pages.account.visitor import Visitor, shown, text

pytestmark = pytest.mark.django_db

PAGE = "/oauth/activate"
FORM = "application/x-www-form-urlencoded"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"


def device(**changed: str) -> dict[str, Any]:
    sent = {"client_id": "agentpods-cli", "scope": "read operate pay", **changed}
    answer = APIClient().post("/oauth/device", urlencode(sent), content_type=FORM)
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def polled(told: dict[str, Any], **changed: str) -> Any:
    sent = {"client_id": "agentpods-cli", "grant_type": GRANT_TYPE, "device_code": told["device_code"], **changed}
    return APIClient().post("/oauth/token", urlencode(sent), content_type=FORM)


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def answered(visitor: Visitor, told: dict[str, Any], answer: str, **typed: str) -> Any:
    asked = shown(visitor.send(visitor.open(PAGE), PAGE, user_code=told["user_code"]))
    return visitor.send(asked, PAGE, answer=answer, **{"may": "operate", "days": "30", **typed})


def test_the_device_gets_a_key_with_the_persons_limits(visitor: Visitor, owner: User) -> None:
    told = device()
    assert told["verification_uri"].endswith(PAGE)
    assert polled(told).json()["error"] == "authorization_pending"
    assert "The program is connected" in text(shown(answered(visitor, told, "allow")))
    token = polled(told).json()
    assert token["scope"] == "operate"
    assert with_token(token["access_token"]).get("/me").status_code == 200
    assert ApiKey.objects.get(user=owner).name == "agentpods"


def test_a_program_of_others_cannot_pass_for_our_own(visitor: Visitor) -> None:
    client, now = "https://thief.example/client.json", timezone.now()
    OAuthClient.objects.create(
        id=client, name="agentpods", redirect_uris=["https://thief.example/"], grant_types=[GRANT_TYPE], fetched_at=now
    )
    for asked, said in ((client, "agentpods of thief.example"), ("agentpods-cli", "The program agentpods, which")):
        page = shown(visitor.send(visitor.open(PAGE), PAGE, user_code=device(client_id=asked)["user_code"]))
        assert said in text(page)


def test_a_device_code_that_nobody_was_given_is_no_grant() -> None:
    assert polled({"device_code": "another"}).json()["error"] == "invalid_grant"


def test_a_refusal_is_told_to_the_device(visitor: Visitor) -> None:
    told = device()
    assert "The program was refused" in text(shown(answered(visitor, told, "deny")))
    assert polled(told).json()["error"] == "access_denied"
    assert not ApiKey.objects.exists()


def test_a_device_that_asks_too_often_is_told_to_slow_down() -> None:
    told = device()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        assert polled(told).json()["error"] == "authorization_pending"
        assert polled(told).json()["error"] == "slow_down"
        clock.shift(5)
        assert polled(told).json()["error"] == "authorization_pending"


def test_a_code_is_over_after_a_quarter_of_an_hour(visitor: Visitor) -> None:
    told = device()
    with time_machine.travel(timezone.now() + timedelta(minutes=15, seconds=1)):
        assert polled(told).json()["error"] == "expired_token"
        page = shown(visitor.send(visitor.open(PAGE), PAGE, user_code=told["user_code"]), status=400)
        assert "it is over" in text(page)


def test_a_device_code_makes_one_key_and_ends_it_when_it_comes_again(visitor: Visitor) -> None:
    told = device()
    answered(visitor, told, "allow")
    secret = polled(told).json()["access_token"]
    assert polled(told).json()["error"] == "invalid_grant"
    assert with_token(secret).get("/me").status_code == 401


def test_nobody_answers_twice(visitor: Visitor, stranger: User) -> None:
    told = device()
    answered(visitor, told, "deny")
    other = Visitor(stranger)
    page = shown(other.send(other.open(PAGE), PAGE, user_code=told["user_code"]), status=400)
    assert "This code is not known" in text(page)
    assert polled(told).json()["error"] == "access_denied"


@pytest.mark.django_db(transaction=True)
def test_of_people_who_answer_at_once_one_is_heard(visitor: Visitor, stranger: User) -> None:
    told, people = device(), [visitor, Visitor(stranger)]
    pages = [one.open(PAGE) for one in people]

    def answer(number: int) -> int:
        try:
            typed = {"user_code": told["user_code"], "answer": ("allow", "deny")[number // 2 % 2], "may": "read"}
            return int(people[number % 2].send(pages[number % 2], PAGE, **typed).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(answer, range(8)))
    assert statuses == [200, *[400] * 7]
    grant = OAuthGrant.objects.get()
    assert (grant.limits is None) == (polled(told).json().get("error") == "access_denied")


def test_codes_are_stored_as_digests() -> None:
    told = device()
    stored = str(list(OAuthGrant.objects.values()))
    assert told["device_code"] not in stored
    assert told["user_code"] not in stored


def test_a_person_may_not_guess_codes(visitor: Visitor) -> None:
    page = visitor.open(PAGE)
    for _ in range(20):
        assert visitor.send(page, PAGE, user_code="BBBB-BBBB").status_code == 400
    assert visitor.send(page, PAGE, user_code="BBBB-BBBB").status_code == 429


def test_the_code_in_the_address_is_filled_in_and_not_answered(visitor: Visitor) -> None:
    told = device()
    page = visitor.open(f"{PAGE}?user_code={told['user_code']}")
    assert page.one("input", name="user_code").attributes["value"] == told["user_code"]
    assert polled(told).json()["error"] == "authorization_pending"


@pytest.mark.parametrize(
    "changed",
    [{"client_id": "unknown"}, {"client_id": ""}, {"scope": "everything"}, {"resource": "https://else.example"}],
)
def test_a_device_with_a_wrong_request_is_refused(changed: dict[str, str]) -> None:
    sent = {"client_id": "agentpods-cli", **changed}
    refused = APIClient().post("/oauth/device", urlencode(sent), content_type=FORM)
    assert (refused.status_code // 100, "error" in refused.json()) == (4, True), refused.content
    assert not OAuthGrant.objects.exists()


def test_another_program_does_not_get_the_key(visitor: Visitor) -> None:
    told = device()
    answered(visitor, told, "allow")
    assert polled(told, client_id="https://another.example/client.json").status_code in {400, 401}
    assert not ApiKey.objects.exists()


def test_somebody_who_is_not_signed_in_comes_back_with_the_code() -> None:
    answer = Visitor().client.get(f"{PAGE}?user_code=BBBB-CCCC")
    assert answer.headers["Location"] == "/sign-in?next=%2Foauth%2Factivate%3Fuser_code%3DBBBB-CCCC"
