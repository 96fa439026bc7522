"""/account: the account's agents with their terms, its keys, and signing out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import ApiKey, Session, User
from agents.models import Agent
from billing import corrections
from billing.models import Lapse
from billing.vocabulary import TermMode
from pages.account import account
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import NOON, Clock, Pay
from tests.pages.account.visitor import Visitor, shown, statements, text
from tests.pages.page import Element, Page

ACCOUNT = "/account"
DAY = timedelta(days=1)


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def lines(page: Page, section: str) -> list[Element]:
    found = page.all("li")
    return [one for one in found if any(parent.attributes.get("id") == section for parent in one.within)]


def words(element: Element) -> str:
    return " ".join(element.text.split())


def test_who_is_not_signed_in_is_sent_to_sign_in_and_back(db: None) -> None:
    answer = Visitor().client.get("/account?agents=1")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in?next=%2Faccount%3Fagents%3D1")
    assert answer.headers["Cache-Control"] == "no-store"


def test_each_agent_is_shown_with_its_state_and_what_it_runs_on(
    clock: Clock, visitor: Visitor, make_agent: MakeAgent, pay: Pay
) -> None:
    paid, ours = make_agent(name="Paid"), make_agent(name="Ours")
    pay(paid)
    late = make_agent(name="Late")
    make_agent(name="Free")
    corrections.grant(ours, actor="user:ops", reason="a friend", now=NOON)
    Agent.objects.filter(pk=late.pk).update(created_at=NOON - 10 * DAY, trial_ends_at=NOON - 3 * DAY)
    Lapse.objects.create(agent=late, mode=TermMode.TRIAL, stopped_at=NOON - 2 * DAY)
    found = {words(line).split()[0]: line for line in lines(visitor.open(ACCOUNT), "agents")}
    assert "starting Tiny Free: 7 days left Stops on Nov. 28, 2026, 12:00 UTC and is deleted" in words(found["Free"])
    assert "Paid until Dec. 28, 2026 Pay for longer" in words(found["Paid"])
    assert words(found["Ours"]).endswith("Paid by us, without an end")
    assert "the time is over Deleted with its data on Dec. 3, 2026, 12:00 UTC" in words(found["Late"])


def test_the_last_hours_are_told_in_hours(clock: Clock, visitor: Visitor, make_agent: MakeAgent) -> None:
    make_agent()
    clock.at(NOON + 7 * DAY - timedelta(minutes=61))
    visitor = Visitor(User.objects.get())
    assert "Free: 2 hours left" in text(visitor.open(ACCOUNT))


def test_every_agent_links_to_its_page_and_to_paying(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = make_agent()
    page = visitor.open(ACCOUNT)
    assert page.all("a", href=f"/account/agents/{agent.pk}")
    assert page.all("a", href=f"/renew/{agent.pk}")


def test_only_ones_own_are_shown(visitor: Visitor, make_agent: MakeAgent, stranger: User) -> None:
    make_agent(stranger, name="Secret agent")
    keys.create(stranger, name="Secret key", now=timezone.now())
    assert "Secret" not in text(visitor.open(ACCOUNT))


def a_hundred(agent: Agent) -> None:
    """A hundred more copies, written directly as rows, because this test is about reading."""
    Agent.objects.bulk_create(_copies(agent))


def _copies(agent: Agent) -> list[Agent]:
    values: dict[str, Any] = {field.attname: getattr(agent, field.attname) for field in Agent._meta.concrete_fields}
    made = []
    for number in range(100):
        own = {
            "id": f"agt_{number:024x}",
            "slug": f"many-{number}",
            "suffix": f"many{number}",
            "name": f"Many {number}",
        }
        made.append(Agent(**{**values, **own, "created_at": agent.created_at - number * timedelta(seconds=1)}))
    return made


def test_a_hundred_agents_take_as_many_queries_as_one(
    clock: Clock, visitor: Visitor, make_agent: MakeAgent, pay: Pay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "ON_A_PAGE", 200)
    agent = make_agent()
    pay(agent)
    for_one = statements(visitor, ACCOUNT)
    a_hundred(agent)
    for number in range(5):
        pay(Agent.objects.get(pk=f"agt_{number:024x}"), external_id=str(number))
    assert statements(visitor, ACCOUNT) == for_one <= 8
    assert len(lines(visitor.open(ACCOUNT), "agents")) == 101


def test_the_list_of_agents_has_pages(visitor: Visitor, make_agent: MakeAgent) -> None:
    agent = make_agent(name="The first")
    a_hundred(agent)
    seen, place = [], ACCOUNT
    while place:
        page = visitor.open(place.partition("#")[0])
        assert len(lines(page, "agents")) <= account.ON_A_PAGE
        seen += [words(line) for line in lines(page, "agents")]
        nexts = [one.attributes["href"] for one in page.all("a", rel="next")]
        place = nexts[0] if nexts else ""
    assert len(seen) == 101
    assert len(set(seen)) == 101


@pytest.mark.parametrize("query", ["agents=x", "agents=%00", "keys=x", "keys=key_1%00", "agents=&keys=" + "a" * 9000])
def test_a_page_that_the_list_does_not_have_is_told(visitor: Visitor, query: str) -> None:
    assert visitor.client.get(f"{ACCOUNT}?{query}").status_code == 400
    assert "That did not work" in text(visitor.open(f"{ACCOUNT}?{query}", status=400))


def created(visitor: Visitor, name: str = "laptop") -> Page:
    return shown(visitor.send(visitor.open(ACCOUNT), "/account/keys", name=name))


def test_a_new_key_is_shown_once_and_opens_the_api(visitor: Visitor, owner: User, api: APIClient) -> None:
    page = created(visitor, "  laptop ")
    secret = page.one("code", id="secret").text
    assert api.get("/me", headers={"authorization": f"Bearer {secret}"}).json()["user"]["email"] == owner.email
    assert ApiKey.objects.get().name == "laptop"
    later = visitor.open(ACCOUNT)
    assert secret not in later.html
    assert secret[:12] in text(later)


def test_the_same_form_sent_twice_makes_one_key_and_shows_its_secret_once(visitor: Visitor) -> None:
    page = visitor.open(ACCOUNT)
    secret = shown(visitor.send(page, "/account/keys", name="laptop")).one("code", id="secret").text
    again = shown(visitor.send(page, "/account/keys", name="laptop"))
    assert secret not in again.html
    assert "was made before" in text(again)
    assert ApiKey.objects.count() == 1


def test_who_goes_back_and_types_another_name_may_make_another_key(visitor: Visitor) -> None:
    page = visitor.open(ACCOUNT)
    shown(visitor.send(page, "/account/keys", name="laptop"))
    again = shown(visitor.send(page, "/account/keys", name="server"), status=422)
    assert "This form has already created a key." in again.one("p", role="alert").text
    shown(visitor.send(again, "/account/keys"))
    assert set(ApiKey.objects.values_list("name", flat=True)) == {"laptop", "server"}


def test_the_secret_is_in_no_cache_and_no_log(visitor: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    answer = visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop")
    assert answer.headers["Cache-Control"] == "no-store"
    assert shown(answer).one("code", id="secret").text not in caplog.text


@pytest.mark.parametrize("name", ["", "   ", "a" * 61, "two\nlines", "nul\0"])
def test_what_is_no_name_is_told_beside_the_field(visitor: Visitor, name: str) -> None:
    page = shown(visitor.send(visitor.open(ACCOUNT), "/account/keys", name=name), status=400)
    assert "1 to 60 characters" in page.one("p", role="alert").text
    assert not ApiKey.objects.exists()


def test_a_form_without_what_makes_it_once_makes_nothing(visitor: Visitor) -> None:
    assert visitor.send(visitor.open(ACCOUNT), "/account/keys", name="laptop", once="").status_code == 400
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked_after_a_question(visitor: Visitor, owner: User, api: APIClient) -> None:
    key, secret = keys.create(owner, name="laptop", now=timezone.now())
    place = visitor.open(ACCOUNT).one("a", href=f"/account/keys/{key.pk}/revoke").attributes["href"]
    question = visitor.open(place)
    assert "laptop" in text(question)
    assert api.get("/me", headers={"authorization": f"Bearer {secret}"}).status_code == 200
    after = visitor.follow(visitor.send(question, place))
    assert api.get("/me", headers={"authorization": f"Bearer {secret}"}).status_code == 401
    assert "revoked on" in words(lines(after, "keys")[0])
    assert after.all("a", href=place) == []
    assert visitor.client.get(place).status_code == 303


@pytest.mark.parametrize("key_id", ["key_000000000000000000000000", "junk", "key_%00", "a" * 500])
def test_a_key_that_is_not_ones_own_is_not_there(visitor: Visitor, key_id: str) -> None:
    assert visitor.client.get(f"/account/keys/{key_id}/revoke").status_code == 404


def test_anothers_key_is_not_there_and_not_revoked(visitor: Visitor, stranger: User) -> None:
    key, _ = keys.create(stranger, name="theirs", now=timezone.now())
    mine, _ = keys.create(User.objects.get(email="owner@example.com"), name="mine", now=timezone.now())
    question = visitor.open(f"/account/keys/{mine.pk}/revoke")
    token = question.one("input", name="csrfmiddlewaretoken").attributes["value"]
    place = f"/account/keys/{key.pk}/revoke"
    assert visitor.client.get(place).status_code == 404
    assert visitor.post(place, csrfmiddlewaretoken=token).status_code == 404
    assert ApiKey.objects.get(pk=key.pk).revoked_at is None


def test_the_list_of_keys_has_pages(visitor: Visitor, owner: User) -> None:
    for number in range(account.ON_A_PAGE + 1):
        keys.create(owner, name=f"key {number}", now=timezone.now())
    page = visitor.open(ACCOUNT)
    assert len(lines(page, "keys")) == account.ON_A_PAGE
    older = visitor.open(page.one("a", rel="next").attributes["href"].partition("#")[0])
    assert [words(line).split(" ak_")[0] for line in lines(older, "keys")] == ["key 0"]


def test_past_the_most_keys_the_page_says_to_revoke_one(visitor: Visitor, owner: User, settings: Settings) -> None:
    settings.MAX_KEYS = 2
    for number in range(2):
        keys.create(owner, name=f"key {number}", now=timezone.now())
    refused = visitor.send(visitor.open(ACCOUNT), "/account/keys", name="one more")
    page = shown(refused, status=400)
    assert "You have 2 keys that work, and may not have more. Revoke one that you no longer need first." in text(page)
    assert page.one("input", id="name").attributes["value"] == "one more"
    keys.revoke(owner, ApiKey.objects.all()[0].pk, now=timezone.now())
    assert visitor.send(page, "/account/keys", name="one more").status_code == 200


def test_names_are_text_and_nothing_else(visitor: Visitor, make_agent: MakeAgent) -> None:
    plain = visitor.open(ACCOUNT)
    make_agent(name="plain")
    created(visitor, "plain")
    shape = visitor.open(ACCOUNT).shape
    Agent.objects.update(name="<script>alert(1)</script>\"'{{ 7 }}")
    ApiKey.objects.update(name="</h3><img src=x onerror=alert(1)>")
    page = visitor.open(ACCOUNT)
    assert page.shape == shape != plain.shape
    assert "<script>alert(1)</script>\"'{{ 7 }}" in text(page)


def test_signing_out_ends_the_session_everywhere(visitor: Visitor, api: APIClient) -> None:
    answer = visitor.send(visitor.open(ACCOUNT), "/sign-out")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")
    assert not Session.objects.exists()
    assert visitor.client.get(ACCOUNT).status_code == 303
    assert api.get("/me", headers={"authorization": f"Bearer {visitor.token}"}).status_code == 401


def test_signing_out_twice_is_fine(visitor: Visitor) -> None:
    page = visitor.open(ACCOUNT)
    visitor.send(page, "/sign-out")
    assert visitor.send(page, "/sign-out").status_code == 303


def test_the_page_speaks_russian(clock: Clock, owner: User, make_agent: MakeAgent) -> None:
    make_agent(name="Бот")
    visitor = Visitor(owner)
    visitor.client.get("/account?lang=ru")
    page = visitor.open(ACCOUNT)
    assert page.lang == "ru"
    told = words(lines(page, "agents")[0])
    assert "Бесплатно: осталось 7 дней" in told
    assert "будет остановлен 28 ноября 2026 г., 12:00 UTC" in told
