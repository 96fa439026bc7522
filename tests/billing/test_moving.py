"""The account keeps the paid time of a deleted agent for 90 days, and may move it to another agent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from agents import suspension
from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, corrections, invariants, moving
from billing.models import Payment, StarsOrder, Subscription
from billing.providers.stars import charges
from billing.providers.stars.updates import StarsCharge
from billing.vocabulary import Provider
from config.errors import Conflict
from config.ids import new_id
from tests import operating
from tests.agents.conftest import MakeAgent, event_types, settle, signed_in
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, licence, tick
from tests.billing.licences import KEY, check, post
from tests.doubles.gumroad_server import GumroadServer

pytestmark = pytest.mark.django_db

OPERATOR = "operator:usr_0"
MONTH = 30 * DAY  # from 28 November


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def heir(agent: Agent, make_agent: MakeAgent) -> Agent:
    return settle(make_agent())


@pytest.fixture
def mine(clock: Clock, owner: User) -> APIClient:
    return signed_in(owner)


@pytest.fixture(autouse=True)
def sound(clock: Clock) -> object:
    yield
    found = invariants.broken(now=clock.now)
    assert [one for one in found if "spans" in one or "no row" in one or "another's" in one] == []


def delete(agent: Agent, clock: Clock) -> Subscription:
    lifecycle.delete(Agent.objects.get(pk=agent.pk), actor="user:x")
    tick(agent, clock)
    return Subscription.objects.exclude(provider=Provider.INTERNAL).get(agent=agent)


def move(client: APIClient, row: Subscription, to: Agent | str) -> Any:
    agent_id = to if isinstance(to, str) else to.pk
    return client.post(f"/subscriptions/{row.pk}/move", {"agentId": agent_id}, format="json")


def test_what_is_left_goes_to_another_agent(agent: Agent, heir: Agent, owner: User, pay: Pay, clock: Clock) -> None:
    pay(agent, tier="small", price_usd=Decimal(10))
    clock.at(FREE_UNTIL + 10 * DAY)
    row = delete(agent, clock)
    assert (row.status, row.canceled_at) == ("canceled", clock.now)
    clock.go(40 * DAY)
    answer = move(signed_in(owner), row, heir)
    assert answer.status_code == 200, answer.json()
    moved = answer.json()["subscription"]
    assert (moved["agentId"], moved["tier"], moved["status"], moved["provider"]) == (heir.pk, "small", "active", "usdc")
    assert agent_terms.term(heir, now=clock.now).paid_till == clock.now + 20 * DAY
    heir.refresh_from_db()
    assert (heir.tier, heir.paid) == ("small", True)
    row.refresh_from_db()
    assert (row.status, row.expired_at) == ("expired", clock.now)
    assert "payment.confirmed" not in event_types(heir)


def test_on_an_agent_that_pays_for_another_plan_it_keeps_its_value(
    agent: Agent, heir: Agent, mine: APIClient, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    pay(heir, "heir", tier="small", price_usd=Decimal(10))
    assert move(mine, delete(agent, clock), heir).json()["subscription"]["tier"] == "small"
    added = timedelta(seconds=5 * 365 * 86_400 // 120)
    assert agent_terms.term(heir, now=clock.now).paid_till == FREE_UNTIL + MONTH + added


def test_on_an_agent_with_a_licence_it_runs_after_that(
    agent: Agent, heir: Agent, mine: APIClient, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    pay(heir, "card", provider=Provider.GUMROAD, licence=licence(NOON + 50 * DAY))
    assert move(mine, delete(agent, clock), heir).status_code == 200
    assert agent_terms.term(heir, now=clock.now).paid_till == NOON + 50 * DAY + MONTH


def test_it_can_be_moved_once_and_for_ninety_days(
    agent: Agent, heir: Agent, mine: APIClient, owner: User, make_agent: MakeAgent, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    pay(heir, "heir")
    row = delete(agent, clock)
    assert move(mine, row, heir).status_code == 200
    assert move(mine, row, heir).status_code == 409
    late = delete(heir, clock)
    third = settle(make_agent())
    clock.go(90 * DAY)
    tick(heir, clock)
    late.refresh_from_db()
    assert (late.status, late.expired_at) == ("expired", clock.now)
    corrections.grant(third, reason="so that it is there", actor=OPERATOR, now=clock.now)
    assert move(signed_in(owner), late, third).status_code == 409


@pytest.mark.django_db(transaction=True)
def test_of_many_moves_and_refunds_at_once_one_has_it(
    agent: Agent, heir: Agent, make_agent: MakeAgent, pay: Pay, clock: Clock
) -> None:
    paid = pay(agent)
    row, takers = delete(agent, clock), [heir, settle(make_agent())]

    def act(number: int) -> bool:
        try:
            if number % 4 == 3:
                corrections.refund_payment(paid, reason="asked", actor=OPERATOR, now=clock.now)
            else:
                moving.move(agent.user, row.pk, to=takers[number % 2], actor="user:x", now=clock.now)
        except Conflict:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(16)))
    refunded = Payment.objects.filter(kind="refund").count()
    held = [taker for taker in takers if agent_terms.term(taker, now=clock.now).mode == "paid"]
    assert refunded <= 1
    assert len(held) == 1 - refunded


def test_only_what_a_deleted_agent_left_can_be_moved_and_only_by_its_owner(
    agent: Agent, heir: Agent, mine: APIClient, stranger: User, make_agent: MakeAgent, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    live = Subscription.objects.get()
    assert move(mine, live, heir).status_code == 409
    row = delete(agent, clock)
    another = make_agent(stranger)
    assert move(signed_in(stranger), row, another).status_code == 404
    for to in (another, agent, "agt_none", ""):
        answer = move(mine, row, to)
        assert answer.status_code in {400, 403, 404}, answer.json()
    assert mine.post("/subscriptions/sub_none/move", {"agentId": heir.pk}, format="json").status_code == 404
    assert mine.post(f"/subscriptions/{row.pk}/move", {}, format="json").status_code == 400
    row.refresh_from_db()
    assert row.status == "canceled"


def test_a_suspension_neither_adds_nor_takes_any(
    agent: Agent, heir: Agent, mine: APIClient, owner: User, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    clock.at(FREE_UNTIL)
    row = delete(agent, clock)
    suspension.suspend(owner, reason="spam", actor=OPERATOR)
    clock.go(5 * DAY)
    suspension.restore(owner, actor=OPERATOR)
    clock.go(DAY)
    assert move(signed_in(owner), row, heir).status_code == 200
    heir.refresh_from_db()
    till = agent_terms.term(heir, now=clock.now).paid_till
    assert till == max(clock.now, agent_terms.free_until(heir, now=clock.now)) + MONTH


def test_what_was_used_up_leaves_nothing(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    lifecycle.delete(agent, actor="user:x")
    clock.at(FREE_UNTIL + MONTH)
    corrections.grant(agent, reason="beside it", actor=OPERATOR, now=clock.now)
    tick(agent, clock)
    assert {row.status for row in Subscription.objects.all()} == {"expired"}


def test_a_refund_finds_what_was_moved(agent: Agent, heir: Agent, mine: APIClient, pay: Pay, clock: Clock) -> None:
    paid = pay(agent)
    clock.at(FREE_UNTIL)
    move(mine, delete(agent, clock), heir)
    corrections.refund_payment(paid, reason="asked", actor=OPERATOR, now=clock.now)
    assert agent_terms.term(heir, now=clock.now).mode == "grace"


def test_stars_that_go_back_take_what_was_moved_and_the_ledger_stays_sound(
    agent: Agent, heir: Agent, mine: APIClient, pay: Pay, clock: Clock
) -> None:
    order = StarsOrder.objects.create(
        id=new_id("stx"),
        user_id=agent.user_id,
        agent=agent,
        provider=Provider.STARS,
        tier="tiny",
        period="monthly",
        price_usd=Decimal(5),
        tier_snapshot={"id": "tiny"},
        created_at=clock.now,
        expires_at=clock.now + DAY,
        amount_stars=385,
        star_usd=Decimal("0.013"),
        invoice_link="https://t.me/$x",
    )
    charge = StarsCharge(id=new_id("chg"), payer_id=77, currency="XTR", amount=385, payload=order.pk)
    charges.take(charge, now=clock.now)
    clock.at(FREE_UNTIL)
    assert move(signed_in(agent.user), delete(agent, clock), heir).status_code == 200
    charges.give_back(charge, now=clock.now)
    assert agent_terms.term(heir, now=clock.now).mode == "grace"
    pay(heir, "coins")
    corrections.refund(heir, reason="asked", actor=OPERATOR, now=clock.now)
    assert [found for found in invariants.broken(now=clock.now) if "another's" in found] == []


def test_what_is_over_is_no_plan_that_moved_time_goes_by(
    agent: Agent, heir: Agent, owner: User, pay: Pay, clock: Clock
) -> None:
    pay(agent, tier="small", price_usd=Decimal(10), period="annual")
    pay(heir, "heir")
    corrections.grant(heir, reason="a friend", actor=OPERATOR, now=clock.now)
    clock.at(FREE_UNTIL + 50 * DAY)
    moved = move(signed_in(owner), delete(agent, clock), heir).json()["subscription"]
    assert moved["tier"] == "small"


def test_what_was_beside_a_licence_is_kept_and_its_key_is_free(
    agent: Agent, heir: Agent, mine: APIClient, pay: Pay, clock: Clock, gumroad: GumroadServer
) -> None:
    gumroad.sell(KEY)
    post(mine, agent)
    pay(agent, price_usd=Decimal(5))
    lifecycle.delete(Agent.objects.get(pk=agent.pk), actor="user:x")
    tick(agent, clock)
    check(clock)
    beside = Subscription.objects.get(agent=agent, status="canceled")
    assert move(mine, beside, heir).status_code == 200
    assert post(mine, heir).status_code == 200


def test_who_deletes_an_agent_in_the_console_reads_what_it_has(agent: Agent, pay: Pay, clock: Clock) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    pay(agent)
    page = operating.choose(console, "/admin/agents/agent/", "delete_agents", agent).content.decode()
    assert f"{agent.pk} has 30 days that are paid and not used, 5.00 USD" in page
