"""Promises to owners are kept: after changes of settings, and whatever somebody gives."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import User
from agents.models import Agent, Desired, Status
from billing import agent_terms, corrections
from billing.errors import NothingGranted
from billing.vocabulary import Period, TermMode
from catalog import snapshot
from config.ids import new_id
from tests.agents.conftest import MakeAgent, settle
from tests.at_length import examples
from tests.billing.conftest import DAY, NOON, Clock, Pay, tick
from tests.pages.account.visitor import Visitor, text

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

OPERATOR = "operator:usr_0"
HOUR = timedelta(hours=1)
PRICES = {"tiny": Decimal("5.00"), "small": Decimal("10.00")}


@pytest.mark.parametrize("days", [0, 3, 14])
def test_another_length_of_trials_is_for_agents_that_are_new(
    owner: User, client: APIClient, running: Agent, clock: Clock, settings: Settings, days: int
) -> None:
    settings.TRIAL_DAYS = days
    term = client.get(f"/agents/{running.pk}/term").json()["term"]
    assert (term["mode"], term["stopsAt"]) == ("trial", "2026-11-28T12:00:00Z")
    assert "7 days left" in text(Visitor(owner).open(f"/renew/{running.pk}"))
    agent = running
    for day in range(7):
        assert agent.status == Status.RUNNING, day
        clock.at(NOON + (day + 1) * DAY - HOUR)
        agent = tick(agent, clock)
    assert (agent.trial_notice_day, agent.entitled_until) == (1, NOON + 7 * DAY)
    clock.at(NOON + 7 * DAY)
    assert tick(agent, clock).status == Status.STOPPED


def test_new_agents_get_the_new_length(
    client: APIClient, make_agent: MakeAgent, clock: Clock, settings: Settings
) -> None:
    settings.TRIAL_DAYS = 14
    snapshot.forget()  # the catalog is cached for a moment
    agent = make_agent()
    assert agent_terms.term(agent, now=clock.now).stops_at == agent.entitled_until == NOON + 14 * DAY
    assert client.get("/tiers").json()["trial"]["days"] == 14


@pytest.mark.parametrize("days", [1, 4, 6])
def test_credited_days_come_after_the_free_ones(running: Agent, clock: Clock, days: int) -> None:
    corrections.credit(running, days=days, reason="an outage", actor=OPERATOR, now=clock.now)
    clock.at(NOON + (7 + days) * DAY + HOUR)
    agent = tick(running, clock)
    term = agent_terms.term(agent, now=clock.now)
    assert term.mode == TermMode.GRACE
    assert term.stops_at == agent.entitled_until == NOON + (7 + days + 3) * DAY


def test_a_grant_that_is_revoked_at_once_leaves_the_trial_its_days(running: Agent, clock: Clock) -> None:
    corrections.grant(running, reason="a friend", actor=OPERATOR, now=clock.now)
    corrections.revoke(running, reason="no friend", actor=OPERATOR, now=clock.now)
    assert agent_terms.term(running, now=clock.now).stops_at == NOON + 7 * DAY


def test_days_are_credited_on_the_plan_that_is_paid(running: Agent, pay: Pay, clock: Clock) -> None:
    pay(running, tier="tiny", price_usd=PRICES["tiny"])
    Agent.objects.filter(pk=running.pk).update(tier="small")
    corrections.credit(running, days=3, reason="an outage", actor=OPERATOR, now=clock.now)
    assert agent_terms.term(running, now=clock.now).paid_till == (NOON + 7 * DAY).replace(month=12) + 3 * DAY


# Two agents with the same payments; one of them also gets gifts.

acts = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 300)),
        st.tuples(st.just("pay"), st.sampled_from(["tiny", "small"])),
        st.tuples(st.just("credit"), st.integers(1, 20)),
        st.tuples(st.just("grant"), st.just(0)),
        st.tuples(st.just("revoke"), st.just(0)),
        st.tuples(st.just("tier"), st.sampled_from(["tiny", "small", "large"])),
        st.tuples(st.just("quote"), st.sampled_from(["tiny", "small", "large"])),
    ),
    max_size=8,
)


class Twins:
    def __init__(self, given: Agent, bare: Agent, clock: Clock, client: APIClient, pay: Pay) -> None:
        self.given, self.bare, self.clock, self.client, self._pay = given, bare, clock, client, pay

    def wait(self, hours: int) -> None:
        """Move through every moment at which something is due for one of the agents, and check the promises there."""
        target = max(self.clock.now, self.clock.now + hours * HOUR)
        while self.bare.desired != Desired.DELETED:
            due = [one.term_due_at for one in (self.given, self.bare) if one.term_due_at is not None]
            moment = min([*due, target])
            if moment > self.clock.now:
                self.clock.at(moment)
            self.bare, self.given = tick(self.bare, self.clock), tick(self.given, self.clock)
            self.look()
            if moment >= target:
                return

    def look(self) -> None:
        if self.given.desired == Desired.DELETED:
            assert self.bare.desired == Desired.DELETED
        if self.given.status == Status.STOPPED:
            assert self.bare.status in {Status.STOPPED, Status.DELETED}

    def pay(self, tier: str) -> None:
        for one in (self.given, self.bare):
            self._pay(one, new_id("tst"), tier=tier, period=Period.MONTHLY, price_usd=PRICES[tier])
        self.wait(0)

    def give(self, what: str, value: int | str) -> None:
        known = {"reason": "because", "actor": OPERATOR, "now": self.clock.now}
        match what:
            case "credit":
                corrections.credit(self.given, days=int(value), **known)  # type: ignore[arg-type] # one table for three
            case "grant":
                corrections.grant(self.given, **known)  # type: ignore[arg-type]
            case "revoke":
                try:
                    corrections.revoke(self.given, **known)  # type: ignore[arg-type]
                except NothingGranted:
                    return
            case "tier":
                answer = self.client.patch(f"/agents/{self.given.pk}", {"tier": value}, format="json")
                assert answer.status_code in {200, 409}
            case "quote":
                query = {"agentId": self.given.pk, "tier": value, "period": "monthly", "provider": "usdc"}
                assert self.client.get("/subscriptions/quote", query).status_code == 200
        self.given.refresh_from_db()
        self.wait(0)


@given(history=acts)
@settings(
    deadline=None,
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
def test_nothing_that_is_given_ends_an_agent_earlier(
    clock: Clock, owner: User, make_agent: MakeAgent, pay: Pay, history: list[tuple[str, int | str]]
) -> None:
    clock.at(NOON)
    with transaction.atomic():
        client = APIClient(raise_request_exception=False)
        token = sessions.start(owner, attribution=None, now=clock.now + 3_000 * DAY)[1]
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        twins = Twins(settle(make_agent()), settle(make_agent()), clock, client, pay)
        for what, value in history:
            if twins.bare.desired == Desired.DELETED:
                break
            match what:
                case "wait":
                    twins.wait(int(value))
                case "pay":
                    twins.pay(str(value))
                case _:
                    twins.give(what, value)
        twins.give("revoke", 0)
        twins.wait(24 * 800)
        assert twins.bare.desired == Desired.DELETED
        transaction.set_rollback(True)
