"""A mailbox has a limited number of free trials in some days. A larger plan is free only during the trial."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts.models import User
from agents import creation, entitlement, suspension
from agents.errors import renew_url
from agents.models import Agent
from config.errors import ServiceError
from tests.agents.conftest import PERSONA, MakeAgent, settle, signed_in
from tests.doubles.runtime import ScriptedRuntime

NEW = {"personaId": PERSONA, "tier": "large"}
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_clock")]


def _create(client: APIClient, **extra: Any) -> Any:
    return client.post("/agents", NEW, format="json", **extra)


def _use_up(client: APIClient, count: int) -> None:
    """Create this many agents and delete each one before the next."""
    for _ in range(count):
        made = _create(client)
        assert made.status_code == 200, made.content
        assert client.delete(f"/agents/{made.json()['agent']['id']}").status_code == 204


@pytest.mark.usefixtures("runtime")
def test_deleting_and_creating_again_gives_ten_trials_in_thirty_days_and_not_one_more(
    client: APIClient, settings: Settings
) -> None:
    settings.SUPPORT_EMAIL = "help@example.com"
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(10):
            _use_up(client, 1)
            clock.shift(DAY)
        refused = _create(client)
        assert (refused.status_code, refused.json()["error"]) == (400, "BAD_REQUEST")
        message = refused.json()["message"]
        assert message == (
            "agents: your mailbox has had 10 free trials in 30 days, deleted agents included;"
            " wait until 2026-12-21T12:00:00Z, or write to help@example.com: you have no agent that could be paid for"
        )
        clock.move_to(NOON + 30 * DAY - timedelta(seconds=1))
        assert _create(client).status_code == 400
        clock.move_to(NOON + 30 * DAY)
        _use_up(client, 1)
        assert _create(client).status_code == 400, "the next one a day later"


@pytest.mark.usefixtures("runtime")
def test_the_refusal_names_both_ways_out_and_paying_is_one(client: APIClient) -> None:
    _use_up(client, 9)
    agent = Agent.objects.get(pk=_create(client).json()["agent"]["id"])
    message = _create(client).json()["message"]
    assert "wait until" in message
    assert re.search(r"or pay for an agent you have \((\S+)\)", message)[1] == renew_url(agent.pk)  # type: ignore[index] # it matched
    entitlement.grant(agent, until=datetime(2030, 1, 1, tzinfo=UTC))
    assert _create(client).status_code == 200


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(
    ("first", "second"),
    [("z+1@example.com", "z+2@example.com"), ("ze.d@gmail.com", "zed+new@googlemail.com")],
)
def test_all_accounts_of_a_mailbox_share_its_trials(catalog: None, first: str, second: str) -> None:
    _use_up(signed_in(User.objects.create_user(first)), 10)
    other = signed_in(User.objects.create_user(second))
    refused = _create(other)
    assert refused.status_code == 400
    assert "pay for an agent" not in refused.json()["message"], "this account has none"
    assert _create(signed_in(User.objects.create_user("y@example.com"))).status_code == 200


@pytest.mark.usefixtures("runtime")
def test_another_address_of_the_account_gives_no_trials(owner: User, client: APIClient) -> None:
    _use_up(client, 10)
    User.objects.filter(pk=owner.pk).update(email="new@example.com")
    assert _create(client).status_code == 400


@pytest.mark.usefixtures("runtime")
def test_operators_choose_how_many(client: APIClient, settings: Settings) -> None:
    settings.MAX_TRIALS, settings.MAX_TRIALS_DAYS = 2, 1
    with time_machine.travel(NOON, tick=False) as clock:
        _use_up(client, 2)
        assert "2 free trials in 1 days" in _create(client).json()["message"]
        clock.shift(DAY)
        _use_up(client, 2)
    settings.MAX_TRIALS = 0
    _use_up(client, 12)


@pytest.mark.usefixtures("runtime")
def test_a_lost_answer_asked_for_again_is_no_second_trial(client: APIClient, settings: Settings) -> None:
    settings.MAX_TRIALS = 1
    first = _create(client, HTTP_IDEMPOTENCY_KEY="k")
    again = _create(client, HTTP_IDEMPOTENCY_KEY="k")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["agent"]["id"] == again.json()["agent"]["id"]


@pytest.mark.usefixtures("runtime")
def test_the_first_wrong_field_is_named_before_the_trials(client: APIClient) -> None:
    _use_up(client, 10)
    refused = client.post("/agents", {**NEW, "tier": "huge"}, format="json")
    assert refused.json()["message"].startswith("tier: ")


@pytest.mark.django_db(transaction=True)
def test_of_many_creates_of_one_mailbox_at_once_only_so_many_are_trials(
    catalog: None, runtime: ScriptedRuntime, settings: Settings
) -> None:
    settings.MAX_FREE_AGENTS = 100
    users = [User.objects.create_user(f"z+{number % 4}@example.com") for number in range(4)]
    new = creation.NewAgent(persona_id=PERSONA, tier="tiny")

    def create(number: int) -> str:
        user = users[number % 4]
        try:
            creation.create(user, creation.checked(user, new), actor="user:x")
        except ServiceError as refusal:
            return type(refusal).__name__
        finally:
            connection.close()
        return "created"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(create, range(20)))
    assert sorted(outcomes) == ["TrialsUsedUp"] * 10 + ["created"] * 10
    assert Agent.objects.count() == 10


# A larger plan.


def _to(client: APIClient, agent: Agent, tier: str) -> Any:
    return client.patch(f"/agents/{agent.pk}", {"tier": tier}, format="json")


def _over(agent: Agent, clock: time_machine.Traveller) -> None:
    """The week of the trial is over, and nobody has stopped the agent yet."""
    clock.shift(7 * DAY)


def _lapsed(agent: Agent, clock: time_machine.Traveller) -> None:
    """The agent was paid for and is now in grace, although its week would not be over yet."""
    entitlement.grant(agent, until=NOON + DAY)
    entitlement.withdraw(agent, until=NOON + 4 * DAY)
    clock.shift(2 * DAY)


@pytest.mark.parametrize("came", [_over, _lapsed])
def test_after_the_trial_a_larger_plan_is_paid_for(
    client: APIClient, make_agent: MakeAgent, came: Callable[..., None]
) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        agent = settle(make_agent(tier="small"))
        came(agent, clock)
        refused = _to(client, agent, "large")
        assert (refused.status_code, refused.json()["error"]) == (409, "CONFLICT")
        assert refused["Link"] == f'<{renew_url(agent.pk)}>; rel="payment"'
        assert refused.json()["message"].startswith("tier: 'large' is larger, and the free time")
        agent.refresh_from_db()
        assert agent.tier == "small"
        assert _to(client, agent, "small").status_code == 200
        assert _to(client, agent, "tiny").status_code == 200
        assert _to(client, agent, "small").status_code == 409, "that is larger again"


def test_during_the_trial_plans_are_tried_at_will(client: APIClient, make_agent: MakeAgent) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        agent = settle(make_agent(tier="small"))
        for tier in ("large", "tiny", "large"):
            assert _to(client, agent, tier).status_code == 200
            clock.shift(DAY)
        agent.refresh_from_db()
        assert agent.entitled_until == NOON + 7 * DAY


def test_a_suspension_gives_the_trial_its_days_back(owner: User, client: APIClient, make_agent: MakeAgent) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        agent = settle(make_agent(tier="small"))
        clock.shift(DAY)
        suspension.suspend(owner, reason="x", actor="operator:x")
        clock.shift(10 * DAY)
        suspension.restore(owner, actor="operator:x")
        agent.refresh_from_db()
        assert agent.trial_ends_at == NOON + 17 * DAY
        clock.shift(5 * DAY)
        assert _to(client, agent, "large").status_code == 200
        clock.shift(DAY)
        assert _to(client, agent, "tiny").status_code == 200
        assert _to(client, agent, "large").status_code == 409
