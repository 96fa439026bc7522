"""A program sends a person to us, and the person says what it may do."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey, User
from accounts.oauth import clients
from accounts.oauth.models import OAuthClient, OAuthGrant
from agents.models import Agent
from tests.accounts.oauth.asking_program import BACK, CHALLENGE, CLIENT, answered, exchanged, request_of
from tests.pages.account.visitor import Visitor, shown, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("program")]


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def test_the_page_says_who_asks_where_one_is_sent_and_what_was_asked(visitor: Visitor, owner: User) -> None:
    page = visitor.open(request_of(scope="operate pay"))
    said = text(page)
    for words in ("A program of program.example", "sent to 127.0.0.1:7777", owner.email):
        assert words in said
    chosen = [one.attributes["value"] for one in page.all("option") if "selected" in one.attributes]
    assert chosen == ["operate pay", "90"]


def test_a_browser_may_follow_the_answer_to_the_program_alone(visitor: Visitor) -> None:
    policy = visitor.client.get(request_of()).headers["Content-Security-Policy"]
    assert "form-action 'self' http://127.0.0.1:7777;" in policy
    assert "frame-ancestors 'none'" in policy


def test_a_browser_may_follow_the_answer_to_an_address_that_a_policy_cannot_name(visitor: Visitor) -> None:
    OAuthClient.objects.filter(pk=CLIENT).update(redirect_uris=["http://[::1]/back"])
    policy = visitor.client.get(request_of(redirect_uri="http://[::1]:7777/back")).headers["Content-Security-Policy"]
    assert "form-action 'self' http:;" in policy


def test_a_person_limits_what_the_program_spends_on_models(visitor: Visitor, owner: User) -> None:
    exchanged(answered(visitor, request_of(), may="operate", perDay="2,50", perMonth="25")["code"])
    key = ApiKey.objects.get(user=owner)
    assert (str(key.day_usd), str(key.month_usd)) == ("2.50", "25.00")


def test_a_person_chooses_an_agent_an_end_and_an_amount(visitor: Visitor, running: Agent, owner: User) -> None:
    typed = {"may": "operate pay", "agent": running.pk, "days": "7", "most": "12,50"}
    exchanged(answered(visitor, request_of(), **typed)["code"])
    key = ApiKey.objects.get(user=owner)
    assert (key.scopes, key.agent_id, str(key.spend_limit_usd)) == (["operate", "pay"], running.pk, "12.50")
    assert key.expires_at is not None
    assert 6 <= (key.expires_at - timezone.now()).days <= 7


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"may": ""}, "Choose what the program may do"),
        ({"may": " "}, "Choose what the program may do"),
        ({"may": "read", "most": "5"}, "do not fit together"),
        ({"may": "pay", "most": "much"}, "do not fit together"),
        ({"may": "pay", "perDay": "5"}, "do not fit together"),
        ({"may": "everything"}, "do not fit together"),
        ({"may": "read", "agent": "agt_of_somebody"}, "do not fit together"),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_again(visitor: Visitor, typed: dict[str, str], said: str) -> None:
    place = request_of()
    page = shown(visitor.send(visitor.open(place), place, answer="allow", **typed), status=400)
    assert said in text(page)
    assert not OAuthGrant.objects.exists()


def test_a_person_with_too_many_keys_hears_it_before_the_program(visitor: Visitor, owner: User, settings: Any) -> None:
    settings.MAX_KEYS = 1
    keys.create(owner, name="first", now=timezone.now())
    place = request_of()
    page = shown(visitor.send(visitor.open(place), place, answer="allow", may="read"), status=400)
    assert "You have too many keys that work" in text(page)


def test_a_person_cannot_make_codes_without_end(visitor: Visitor) -> None:
    place = request_of()
    page = visitor.open(place)
    for _ in range(20):
        assert visitor.send(page, place, answer="allow", may="read", days="7").status_code == 303
    assert visitor.send(page, place, answer="allow", may="read", days="7").status_code == 429
    assert OAuthGrant.objects.count() == 20


def test_a_no_goes_back_to_the_program(visitor: Visitor) -> None:
    back = answered(visitor, request_of(), answer="deny")
    assert (back[""], back["error"], back["state"], "code" in back) == (BACK, "access_denied", "the-state", False)
    assert not OAuthGrant.objects.exists()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "A" * 128 + "\n"}, "invalid_request"),
        ({"code_challenge": f"{CHALLENGE}\n"}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
)
def test_a_wrong_request_goes_back_to_the_program(visitor: Visitor, changed: dict[str, str], error: str) -> None:
    answer = visitor.client.get(request_of(**changed))
    assert answer.status_code == 303, answer.content
    assert answer.headers["Location"].startswith(f"{BACK}?")
    told = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    assert (told["error"], told["state"]) == (error, "the-state")


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://thief.example/back"},
        {"redirect_uri": "https://program.example/back/else"},
        {"redirect_uri": "http://127.0.0.1@thief.example/back"},
        {"redirect_uri": "http://localhost:7777/back"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": ""},
        {"redirect_uri": 'http://127.0.0.1:7777/"back'},
        {"redirect_uri": "http://127.0.0.1:7777/bäck"},
        {"redirect_uri": "http://127.0.0.1\\@thief.example/back"},
        {"redirect_uri": "http://127.0.0.1:7777/back\0"},
        {"redirect_uri": "http://127.0.0.1:\t7777/back"},
        {"redirect_uri": "http://@127.0.0.1:7777/back"},
        {"redirect_uri": f"http://127.0.0.1:{'0' * 600}80/back"},
        {"response_type": '"é'},
        {"client_id": f"{CLIENT}\0"},
        {"client_id": f"{CLIENT}\n"},
        {"client_id": "unknown"},
        {"client_id": ""},
        {"client_id": "agentpods-cli"},
        {"resource": "https://elsewhere.example/mcp"},
    ],
)
def test_nobody_is_sent_to_an_address_that_the_program_has_not_named(visitor: Visitor, changed: dict[str, str]) -> None:
    page = shown(visitor.client.get(request_of(**changed)), status=400)
    assert "This program's request cannot be answered" in text(page)


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "response_type", "scope", "resource", "state"])
def test_our_page_does_not_say_what_a_stranger_has_written(visitor: Visitor, name: str) -> None:
    answer = visitor.client.get(request_of(redirect_uri="https://thief.example") + f"&{name}=Call+our+support+at+1234")
    assert answer.status_code == 400
    changed = visitor.client.get(request_of(**{"redirect_uri": "https://thief.example", name: "Call 1234"}))
    for page in (answer, changed):
        assert "1234" not in text(shown(page, status=400))


def test_a_request_with_a_parameter_twice_is_refused(visitor: Visitor) -> None:
    twice = f"{request_of()}&{urlencode({'redirect_uri': 'https://thief.example'})}"
    answer = visitor.client.get(twice)
    assert not answer.headers.get("Location", "").startswith("https://thief.example")
    assert answer.status_code in {303, 400}


def test_a_program_on_the_persons_machine_takes_any_port(visitor: Visitor) -> None:
    assert answered(visitor, request_of(redirect_uri="http://127.0.0.1:49152/back"))[""].endswith(":49152/back")


def test_another_site_cannot_answer_for_the_person(visitor: Visitor) -> None:
    assert visitor.post(request_of(), answer="allow", may="pay").status_code == 403
    assert not OAuthGrant.objects.exists()


def test_somebody_who_is_not_signed_in_comes_back_to_the_question() -> None:
    place = request_of(state="s" * 600)
    answer = Visitor().client.get(place)
    assert answer.headers["Location"] == f"/sign-in?{urlencode({'next': place})}"


def test_a_name_that_is_markup_stays_text(visitor: Visitor) -> None:
    OAuthClient.objects.filter(pk=CLIENT).update(name='<script>alert("x")</script>')
    answer = visitor.client.get(request_of())
    assert b"<script>alert" not in answer.content
    assert CHALLENGE not in text(shown(answer))


def test_a_program_that_is_gone_when_the_answer_is_made_is_refused_on_a_page(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, known = visitor.open(request_of()), iter([clients.known(CLIENT)])
    monkeypatch.setattr(clients, "known", lambda client_id: next(known, None))
    answer = visitor.send(page, request_of(), answer="allow", may="read", days="30")
    assert "the program has changed" in text(shown(answer, status=400))
    assert not OAuthGrant.objects.exists()


def test_a_long_request_is_there_again_after_the_sign_in(visitor: Visitor) -> None:
    place = request_of(state="s" * 4_000)
    door = Visitor().client.get(place).headers["Location"]
    assert dict(parse_qsl(urlsplit(door).query)) == {"next": place}
    assert visitor.client.get(door).headers["Location"] == place
    assert visitor.client.get(place).status_code == 200


def test_a_request_that_is_too_long_is_refused_and_not_lost(visitor: Visitor) -> None:
    place = request_of(state="s" * 6_000)
    door = Visitor().client.get(place).headers["Location"]
    after = visitor.client.get(door).headers["Location"]
    for one in (place, after):
        page = shown(visitor.client.get(one), status=400)
        assert "cannot be answered" in text(page)
