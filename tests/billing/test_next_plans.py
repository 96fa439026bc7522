"""A smaller plan from the end of the paid time on, where nothing renews automatically."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent, Transition
from billing import agent_terms, corrections
from billing.models import NextPlan, Subscription
from billing.vocabulary import Provider
from tests.agents.conftest import settle, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, licence, tick
from tests.pages.account.visitor import Visitor, text

pytestmark = pytest.mark.django_db

MONTH = 30 * DAY  # from 28 November


@pytest.fixture
def agent(clock: Clock, running: Agent, pay: Pay) -> Agent:
    """An agent that is paid for a month of small, which ends on 28 December."""
    pay(running, tier="small", price_usd=Decimal(10))
    return settle(running)


def row() -> Subscription:
    return Subscription.objects.paid().get()


def at(subscription: Subscription) -> str:
    return f"/subscriptions/{subscription.pk}/next-plan"


def choose(client: APIClient, tier: str = "tiny") -> Any:
    return client.put(at(row()), {"tier": tier}, format="json")


def test_the_owner_reads_what_was_chosen(client: APIClient, agent: Agent, clock: Clock) -> None:
    assert client.get(at(row())).json() == {"nextPlan": None}
    answer = choose(client)
    assert answer.status_code == 200, answer.content
    told = answer.json()["nextPlan"]
    assert told == client.get(at(row())).json()["nextPlan"] == choose(client).json()["nextPlan"]
    assert set(told) == {"subscriptionId", "tier", "period", "priceUsd", "startsAt", "tierSnapshot", "chosenAt"}
    assert (told["subscriptionId"], told["tier"], told["period"], told["priceUsd"]) == (row().pk, "tiny", "monthly", 5)
    assert told["startsAt"] == "2026-12-28T12:00:00Z"
    assert told["tierSnapshot"]["monthlyUsd"] == 5


def test_an_operator_sees_what_was_chosen(client: APIClient, agent: Agent) -> None:
    choose(client)
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    page = console.get("/admin/billing/nextplan/").content.decode()
    assert (str(agent) in page, "5.00" in page) == (True, True)
    assert console.get(f"/admin/billing/nextplan/{quote(agent.pk)}/change/").status_code == 200
    assert console.post(f"/admin/billing/nextplan/{quote(agent.pk)}/delete/", {"post": "yes"}).status_code == 403
    assert NextPlan.objects.exists()


def test_the_plan_is_kept_to_the_end_and_the_smaller_one_begins_there(
    client: APIClient, agent: Agent, clock: Clock
) -> None:
    choose(client)
    end = FREE_UNTIL + MONTH
    clock.at(end - timedelta(seconds=1))
    agent = tick(agent, clock)
    assert (agent.tier, agent_terms.term(agent, now=clock.now).paid_till) == ("small", end)
    clock.at(end)
    agent = tick(agent, clock)
    assert (agent.tier, agent_terms.term(agent, now=clock.now).mode, agent.status) == ("tiny", "grace", "running")
    assert not NextPlan.objects.exists()


def test_who_pays_in_time_pays_for_the_smaller_plan_without_a_stop(
    client: APIClient, agent: Agent, clock: Clock, pay: Pay
) -> None:
    choose(client)
    clock.at(FREE_UNTIL + MONTH + DAY)
    agent = tick(agent, clock)
    pay(agent, "two")
    agent = tick(agent, clock)
    assert (agent.tier, agent.status, row().current_period_end) == ("tiny", "running", clock.now + 31 * DAY)


def test_more_time_of_the_same_plan_puts_it_off(client: APIClient, agent: Agent, clock: Clock, pay: Pay) -> None:
    choose(client)
    pay(agent, "two", tier="small", price_usd=Decimal(10))
    assert client.get(at(row())).json()["nextPlan"]["startsAt"] == "2027-01-28T12:00:00Z"
    clock.at(FREE_UNTIL + MONTH + DAY)
    assert tick(agent, clock).tier == "small"


def test_another_plan_that_is_bought_meanwhile_ends_the_choice(
    client: APIClient, agent: Agent, clock: Clock, pay: Pay
) -> None:
    choose(client)
    pay(agent, "two", tier="medium", price_usd=Decimal(20))
    assert client.get(at(row())).json() == {"nextPlan": None}


def test_the_owner_keeps_the_plan_after_all(client: APIClient, agent: Agent, clock: Clock) -> None:
    choose(client)
    assert [client.delete(at(row())).status_code for _ in range(2)] == [204, 204]
    assert client.get(at(row())).json() == {"nextPlan": None}
    clock.at(FREE_UNTIL + MONTH)
    assert tick(agent, clock).tier == "small"


@pytest.mark.unmeasured
def test_an_owner_who_toggles_for_ever_fills_no_timeline(client: APIClient, agent: Agent, clock: Clock) -> None:
    codes = []
    for _ in range(40):
        codes.append(choose(client).status_code)
        client.delete(at(row()))
    assert codes == [200] * 30 + [429] * 10
    assert Transition.objects.filter(agent=agent, note__contains=row().pk).count() < 70
    clock.go(timedelta(hours=1))
    assert choose(client).status_code == 200


@pytest.mark.parametrize(
    ("tier", "words"),
    [("small", "is not smaller"), ("large", "is not smaller"), ("huge", "tier"), (5, "tier"), (None, "tier")],
)
def test_what_is_no_smaller_plan_is_refused(client: APIClient, agent: Agent, tier: Any, words: str) -> None:
    answer = client.put(at(row()), {"tier": tier}, format="json")
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert words in answer.json()["message"]
    assert not NextPlan.objects.exists()


def test_a_plan_too_small_for_the_engine_is_refused(client: APIClient, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(engine="hermes")
    answer = choose(client)
    assert (answer.status_code, "too small for Hermes" in answer.json()["message"]) == (400, True)


def test_what_has_no_end_of_its_own_takes_no_next_plan(client: APIClient, agent: Agent, clock: Clock, pay: Pay) -> None:
    over = row()
    corrections.refund(agent, reason="asked for", actor="operator", now=clock.now)
    assert client.put(at(over), {"tier": "tiny"}, format="json").status_code == 409
    held = pay(
        agent, "licence", provider=Provider.GUMROAD, tier="small", licence=licence(clock.now + 40 * DAY)
    ).subscription
    assert held is not None
    answer = client.put(at(held), {"tier": "tiny"}, format="json")
    assert (answer.status_code, "gumroad" in answer.json()["message"]) == (409, True)


def test_another_account_has_no_such_subscription(agent: Agent, stranger: Any) -> None:
    theirs = signed_in(stranger)
    assert theirs.get(at(row())).status_code == 404
    assert theirs.put(at(row()), {"tier": "tiny"}, format="json").status_code == 404
    assert theirs.delete(at(row())).status_code == 404
    assert theirs.get("/subscriptions/sub_nonsense/next-plan").status_code == 404


def test_the_page_offers_the_smaller_plans_and_says_what_comes(agent: Agent, clock: Clock) -> None:
    visitor, here = Visitor(agent.user), f"/account/agents/{agent.pk}"
    assert "Choose a smaller plan" in text(visitor.open(here))
    page = visitor.open(f"{here}/next-plan")
    assert [one.attributes["value"] for one in page.all("input", name="tier")] == ["tiny", "keep"]
    after = visitor.follow(visitor.send(page, f"{here}/next-plan", tier="tiny"))
    assert "Tiny, $5 for a month" in text(after)
    kept = visitor.follow(visitor.send(visitor.open(f"{here}/next-plan"), f"{here}/next-plan", tier="keep"))
    assert "Choose a smaller plan" in text(kept)
    assert visitor.post(f"{here}/next-plan", tier="tiny").status_code == 403


def test_an_agent_on_the_smallest_plan_has_nothing_to_choose(running: Agent, clock: Clock, pay: Pay) -> None:
    pay(running)
    visitor, here = Visitor(running.user), f"/account/agents/{running.pk}"
    assert "Choose a smaller plan" not in text(visitor.open(here))
    assert visitor.client.get(f"{here}/next-plan").headers["Location"] == here


def test_paid_time_that_ends_by_a_refund_ends_like_any_other(client: APIClient, agent: Agent, clock: Clock) -> None:
    choose(client)
    corrections.refund(agent, reason="asked", actor="operator:x", now=clock.now)
    agent = tick(agent, clock)
    assert (agent.tier, NextPlan.objects.exists()) == ("tiny", False)
