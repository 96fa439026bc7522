"""A suspended account: its tokens, agents and terms, and how all of it comes back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from rest_framework.test import APIClient

from accounts.errors import AccountSuspended
from accounts.models import Suspension, User
from agents import creation, entitlement, suspension
from agents.errors import OwnerSuspended
from agents.models import Agent, Desired, Reason, Status
from agents.running import lifecycle
from config.errors import ServiceError
from tests.agents.conftest import PERSONA, MakeAgent, event_types, settle
from tests.doubles.runtime import ScriptedRuntime
from webhooks.models import Event

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
OPERATOR = "operator:usr_0"

pytestmark = pytest.mark.django_db


def suspend(user: User) -> Suspension:
    row = suspension.suspend(user, reason="spam", actor=OPERATOR)
    suspension.enforce()
    return row


def restore(user: User) -> None:
    suspension.restore(user, actor=OPERATOR)
    suspension.enforce()


def test_running_agents_stop_with_their_event_and_on_the_timeline(
    owner: User, running: Agent, runtime: ScriptedRuntime
) -> None:
    suspend(owner)
    stopped = settle(running)
    assert (stopped.status, stopped.operation) == (Status.STOPPED, Reason.SUSPENDED)
    assert event_types(stopped) == ["agent.running", "agent.stopped"]
    told = json.loads(Event.objects.filter(agent=stopped).latest("created_at").body)
    assert told["data"] == {"from": "running", "to": "stopped", "reason": "suspended"}
    asked = stopped.transitions.get(note="stop requested")
    assert (asked.reason, asked.actor) == (Reason.SUSPENDED, OPERATOR)


def test_what_the_suspension_stopped_comes_back_and_what_the_owner_had_stopped_stays(
    owner: User, make_agent: MakeAgent
) -> None:
    ran, paused = settle(make_agent()), settle(make_agent())
    lifecycle.pause(paused, reason=Reason.OWNER, actor="user:x")
    settle(paused)
    suspend(owner)
    assert {settle(ran).status, settle(paused).status} == {Status.STOPPED}
    restore(owner)
    assert settle(ran).status == Status.RUNNING
    assert settle(paused).status == Status.STOPPED
    assert ran.transitions.filter(reason=Reason.RESUME, actor=OPERATOR).exists()


def test_other_accounts_are_not_touched(owner: User, stranger: User, make_agent: MakeAgent) -> None:
    theirs = settle(make_agent(user=stranger))
    suspend(owner)
    assert settle(theirs).status == Status.RUNNING


def test_an_agent_still_being_provisioned_or_failed_is_stopped_too(
    owner: User, make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    agent = make_agent()
    suspend(owner)
    assert settle(agent).status == Status.STOPPED
    assert event_types(agent) == ["agent.stopped"]


def test_nothing_starts_while_the_account_is_suspended(owner: User, running: Agent) -> None:
    suspend(owner)
    settle(running)
    for ask in (lifecycle.resume, lifecycle.rebuild):
        with pytest.raises(OwnerSuspended, match="restores it in the admin"):
            ask(running, actor="operator:x")
    new = creation.NewAgent(persona_id=PERSONA, tier="tiny")
    with pytest.raises(AccountSuspended):
        creation.create(owner, new, actor="user:x")


def test_what_started_at_the_same_moment_is_stopped_by_the_next_run(owner: User, running: Agent) -> None:
    suspend(owner)
    settle(running)
    Agent.objects.filter(pk=running.pk).update(desired=Desired.RUNNING, operation=Reason.RESUME)  # a resume raced
    assert suspension.enforce() == 1
    assert settle(running).status == Status.STOPPED


def test_the_owner_of_a_restored_account_may_keep_an_agent_stopped(owner: User, running: Agent) -> None:
    suspend(owner)
    settle(running)
    suspension.restore(owner, actor=OPERATOR)
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    suspension.enforce()
    assert settle(running).status == Status.STOPPED


def test_suspending_or_restoring_twice_changes_nothing(owner: User, running: Agent) -> None:
    first = suspend(owner)
    assert suspend(owner).pk == first.pk
    restore(owner)
    restore(owner)
    assert Suspension.objects.count() == 1
    suspend(owner)
    assert Suspension.objects.count() == 2


def test_an_account_closed_before_suspensions_were_written_down_can_be_restored(owner: User, running: Agent) -> None:
    User.objects.update(is_active=False)
    suspension.enforce()
    settle(running)
    restore(owner)
    assert settle(running).status == Status.RUNNING


@pytest.mark.usefixtures("one_clock")
def test_the_term_stands_still(owner: User, make_agent: MakeAgent) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        agent = settle(make_agent())
        end = agent.entitled_until
        assert end is not None
        over = settle(make_agent())
        entitlement.withdraw(over, until=NOON)
        clock.shift(timedelta(hours=1))
        suspend(owner)
        settle(agent)
        clock.shift(timedelta(days=30))
        restore(owner)
        agent = settle(agent)
        assert agent.entitled_until == end + timedelta(days=30)
        assert agent.status == Status.RUNNING
        over = settle(over)
        assert (over.entitled_until, over.status) == (NOON, Status.STOPPED)


def test_an_account_with_many_agents_is_stopped_in_batches(
    owner: User, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspension, "BATCH", 2)
    for _ in range(3):
        make_agent()
    suspension.suspend(owner, reason="spam", actor=OPERATOR)
    assert [suspension.enforce() for _ in range(3)] == [2, 1, 0]


def test_looking_for_work_costs_the_same_for_any_number_of_suspended_accounts(
    owner: User, stranger: User, make_agent: MakeAgent, django_assert_num_queries: object
) -> None:
    make_agent()
    suspend(owner)
    suspend(stranger)
    with django_assert_num_queries(2):  # type: ignore[operator]  # the fixture has no type
        assert suspension.enforce() == 0


def test_tokens_answer_401_and_are_good_again_afterwards(client: APIClient, owner: User) -> None:
    secret = client.post("/keys", {"name": "a"}, format="json").json()["secret"]
    agent = APIClient()
    agent.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    suspend(owner)
    assert (client.get("/agents").status_code, agent.get("/agents").status_code) == (401, 401)
    restore(owner)
    assert (client.get("/agents").status_code, agent.get("/agents").status_code) == (200, 200)


@pytest.mark.django_db(transaction=True)
def test_no_agent_created_at_the_same_moment_runs_on(owner: User, catalog: None, runtime: ScriptedRuntime) -> None:
    new = creation.NewAgent(persona_id=PERSONA, tier="tiny")

    def work(number: int) -> str:
        try:
            if number == 1:
                suspension.suspend(owner, reason="spam", actor=OPERATOR)
            else:
                creation.create(owner, creation.checked(owner, new), actor="user:x")
        except ServiceError as refusal:
            return type(refusal).__name__
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(work, range(4)))
    assert set(outcomes) <= {"done", "AccountSuspended"}
    suspension.enforce()
    assert not Agent.objects.exclude(desired=Desired.STOPPED).exists()
