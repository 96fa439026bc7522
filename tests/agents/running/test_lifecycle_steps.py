"""What each step of the life cycle writes: the row, the timeline, the events and the worker's next task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import User
from agents.errors import OwnerSuspended, WrongState
from agents.inbound.models import InboundMessage
from agents.models import Agent, Desired, KeptLog, Reason, Repository, Status, Transition
from agents.running import lifecycle
from catalog.models import Persona
from tests.agents.conftest import PERSONA, MakeAgent, event_types
from webhooks.models import Event

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATER = NOON + HOUR
URL = "https://buddy.pods.example.com"
WRONG = {"cause": "OOM", "cause_message": "too little memory", "cause_evidence": ["killed"]}
NOTHING_WRONG: tuple[str, str, list[str]] = ("", "", [])


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def new(frozen: None, make_agent: MakeAgent) -> Agent:
    return make_agent()


@pytest.fixture
def up(new: Agent) -> Agent:
    return came_up(new)


def came_up(agent: Agent, *, generation: int | None = None, now: datetime = NOON) -> Agent:
    return lifecycle.came_up(agent, generation=generation or agent.generation, public_url=URL, now=now)


def failed(agent: Agent, *, generation: int | None = None, cause: str = "OOM", now: datetime = NOON) -> Agent:
    found = {"message": "too little memory", "evidence": ["killed"]}
    return lifecycle.fail(agent, generation=generation or agent.generation, cause=cause, now=now, **found)  # type: ignore[arg-type] # a table


def recovered(agent: Agent, *, generation: int | None = None, now: datetime = NOON) -> Agent:
    return lifecycle.recover(agent, generation=generation or agent.generation, note="the pod is gone", now=now)


def paused(agent: Agent, *, reason: Reason = Reason.OWNER, why: str = "") -> Agent:
    return lifecycle.pause(agent, reason=reason, actor="user:u", why=why)


def saved(agent: Agent, **changes: Any) -> Agent:
    """The row as it is in the database, after these changes."""
    Agent.objects.filter(pk=agent.pk).update(**changes or {"name": agent.name})
    return Agent.objects.get(pk=agent.pk)


def wrong(agent: Agent) -> tuple[str, str, list[str]]:
    return agent.cause, agent.cause_message, agent.cause_evidence


def test_every_step_of_a_life_is_on_the_timeline_with_who_asked_for_it_and_why(new: Agent) -> None:
    hours = iter(range(1, 20))

    def later() -> datetime:
        return NOON + next(hours) * HOUR

    agent = came_up(recovered(came_up(new, now=later()), now=later()), now=later())
    agent = came_up(failed(agent, now=later()), now=later())
    agent = lifecycle.came_down(paused(agent, reason=Reason.OPERATOR, why="spam"), now=later())
    agent = came_up(lifecycle.resume(agent, actor="user:u"), now=later())
    agent = came_up(lifecycle.rebuild(agent, actor="user:u", why="it hangs"), now=later())
    agent = came_up(lifecycle.move(agent, actor="operator:o", why="to cluster b"), now=later())
    agent = lifecycle.is_gone(lifecycle.delete(agent, actor="user:u", why="too dear"), now=later())
    rows = Transition.objects.filter(agent=agent).order_by("id")
    assert list(rows.values_list("from_status", "to_status", "reason", "actor", "note", "at")) == [
        ("provisioning", "provisioning", "create", f"user:{agent.user_id}", "created", NOON),
        ("provisioning", "running", "create", "reconciler", "", NOON + HOUR),
        ("running", "provisioning", "recovery", "reconciler", "the pod is gone", NOON + 2 * HOUR),
        ("provisioning", "running", "recovery", "reconciler", "", NOON + 3 * HOUR),
        ("running", "failed", "recovery", "reconciler", "OOM: too little memory", NOON + 4 * HOUR),
        ("failed", "running", "recovery", "reconciler", "", NOON + 5 * HOUR),
        ("running", "running", "operator", "user:u", "stop requested: spam", NOON),
        ("running", "stopped", "operator", "reconciler", "", NOON + 6 * HOUR),
        ("stopped", "provisioning", "resume", "user:u", "", NOON),
        ("provisioning", "running", "resume", "reconciler", "", NOON + 7 * HOUR),
        ("running", "provisioning", "rebuild", "user:u", "it hangs", NOON),
        ("provisioning", "running", "rebuild", "reconciler", "", NOON + 8 * HOUR),
        ("running", "provisioning", "move", "operator:o", "to cluster b", NOON),
        ("provisioning", "running", "move", "reconciler", "", NOON + 9 * HOUR),
        ("running", "running", "owner", "user:u", "deletion requested: too dear", NOON),
        ("running", "deleted", "owner", "reconciler", "", NOON + 10 * HOUR),
    ]
    told = ["running", "running", "failed", "running", "stopped", "running", "running", "running", "deleted"]
    assert event_types(agent) == [f"agent.{status}" for status in told]
    assert Event.objects.get(type="agent.deleted").created_at == NOON + 10 * HOUR


REQUESTS: dict[str, tuple[Callable[[Agent], object], Desired, Reason]] = {
    "pause": (paused, Desired.STOPPED, Reason.OWNER),
    "resume": (lambda agent: lifecycle.resume(stopped(agent), actor="user:u"), Desired.RUNNING, Reason.RESUME),
    "rebuild": (lambda agent: lifecycle.rebuild(agent, actor="user:u"), Desired.RUNNING, Reason.REBUILD),
    "move": (lambda agent: lifecycle.move(agent, actor="operator:o", why="x"), Desired.RUNNING, Reason.MOVE),
    "delete": (lambda agent: lifecycle.delete(agent, actor="user:u"), Desired.DELETED, Reason.OWNER),
    "recovery": (recovered, Desired.RUNNING, Reason.RECOVERY),
}


def stopped(agent: Agent) -> Agent:
    return saved(lifecycle.came_down(paused(agent), now=NOON), **WRONG, attempts=5, reconcile_at=None)


@pytest.mark.parametrize("request_of", REQUESTS)
def test_a_request_is_taken_up_at_once_however_often_the_last_one_failed(
    up: Agent, request_of: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    ask, desired, operation = REQUESTS[request_of]
    saved(up, attempts=5, reconcile_at=None)
    with django_capture_on_commit_callbacks() as tasks:
        ask(up)
    agent = saved(up)
    assert (agent.desired, agent.operation, agent.reconcile_at, agent.attempts) == (desired, operation, NOON, 0)
    assert ("agents.reconcile", (agent.pk,)) == tasks[-1].args  # type: ignore[attr-defined] # a partial


@pytest.mark.parametrize("request_of", ["resume", "rebuild", "move", "recovery"])
def test_a_pod_has_ten_minutes_to_come_up_and_the_old_cause_is_forgotten(up: Agent, request_of: str) -> None:
    saved(up, **WRONG, status_since=NOON - DAY)
    REQUESTS[request_of][0](up)
    agent = saved(up)
    assert (agent.status, agent.status_since) == (Status.PROVISIONING, NOON)
    assert (agent.deadline_at, wrong(agent)) == (NOON + 10 * MINUTE, NOTHING_WRONG)


def test_a_new_agent_wakes_a_worker(
    make_agent: MakeAgent, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks() as tasks:
        agent = make_agent()
    assert ("agents.reconcile", (agent.pk,)) in [getattr(task, "args", None) for task in tasks]


# The pod came up, or did not.


def test_a_pod_that_came_up_gives_the_agent_its_address_and_ends_what_was_wrong(new: Agent) -> None:
    came_up(saved(new, **WRONG, lost_since=NOON, restores="bkp_1"), now=LATER)
    agent = saved(new)
    assert (agent.status, agent.settled_status, agent.status_since) == (Status.RUNNING, Status.RUNNING, LATER)
    assert (agent.dseq, agent.endpoint_url) == (agent.namespace, URL)
    assert (agent.was_running, agent.data_expected, agent.restores) == (True, True, "")
    assert (wrong(agent), agent.lost_since) == (NOTHING_WRONG, None)


def test_the_first_backup_is_in_the_night_after_the_first_start_and_a_later_start_changes_nothing(new: Agent) -> None:
    first = saved(came_up(new)).backup_due_at
    assert first is not None
    assert NOON < first <= NOON + DAY
    came_up(recovered(new), now=NOON + 3 * DAY)
    assert saved(new).backup_due_at == first


def test_only_the_first_start_counts_as_a_deployment_of_the_persona(new: Agent) -> None:
    first = came_up(new)
    assert Persona.objects.get(pk=PERSONA).deployments == 1
    came_up(recovered(first))
    assert Persona.objects.get(pk=PERSONA).deployments == 1


def test_a_pod_of_an_earlier_generation_changes_nothing(up: Agent) -> None:
    rebuilt = lifecycle.rebuild(up, actor="user:u")
    came_up(rebuilt, generation=1)
    failed(rebuilt, generation=1)
    assert saved(up).status == Status.PROVISIONING
    came_up(rebuilt, generation=2)
    recovered(rebuilt, generation=1)
    assert (saved(up).status, saved(up).generation) == (Status.RUNNING, 2)


def test_a_pod_that_is_no_longer_wanted_neither_comes_up_nor_fails_nor_is_recovered(new: Agent) -> None:
    paused(new)
    came_up(new)
    failed(new)
    assert saved(new).status == Status.PROVISIONING
    recovered(saved(new, status=Status.RUNNING))
    assert (saved(new).status, saved(new).generation) == (Status.RUNNING, 1)


def test_a_pod_is_running_once_and_keeps_its_address(up: Agent) -> None:
    lifecycle.came_up(up, generation=1, public_url="https://other.example.com", now=LATER)
    agent = saved(up)
    assert (agent.endpoint_url, agent.status_since, event_types(agent)) == (URL, NOON, ["agent.running"])


def test_a_failure_is_kept_with_its_evidence_and_the_first_cause_stays(up: Agent) -> None:
    failed(up, now=LATER)
    failed(up, cause="CRASH_LOOP", now=LATER + HOUR)
    agent = saved(up)
    assert (agent.status, agent.settled_status, agent.status_since) == (Status.FAILED, Status.FAILED, LATER)
    assert wrong(agent) == ("OOM", "too little memory", ["killed"])
    assert event_types(agent) == ["agent.running", "agent.failed"]


def test_a_stop_and_a_deletion_happen_only_when_they_are_wanted_and_once(up: Agent) -> None:
    lifecycle.came_down(up, now=NOON)
    lifecycle.is_gone(up, now=NOON)
    assert saved(up).status == Status.RUNNING
    paused(up)
    lifecycle.is_gone(up, now=NOON)
    for now in (LATER, LATER + HOUR):
        lifecycle.came_down(up, now=now)
    assert (saved(up).status, saved(up).settled_status, saved(up).status_since) == ("stopped", "stopped", LATER)
    lifecycle.delete(up, actor="user:u")
    lifecycle.came_down(up, now=NOON)
    for now in (LATER + 2 * HOUR, LATER + 3 * HOUR):
        lifecycle.is_gone(up, now=now)
    assert (saved(up).status, saved(up).status_since) == ("deleted", LATER + 2 * HOUR)
    assert event_types(up) == ["agent.running", "agent.stopped", "agent.deleted"]


# Events.


def told(agent: Agent) -> list[dict[str, str]]:
    events = Event.objects.filter(agent=agent).order_by("created_at")
    return [json.loads(event.body)["data"] for event in events]


def test_an_event_names_where_the_agent_came_from(new: Agent) -> None:
    """A pod that came up or failed names the last settled status; a stop, a deletion and a second failure the one
    before."""
    hours = (NOON + number * HOUR for number in range(1, 20))
    agent = came_up(new, now=next(hours))
    agent = came_up(lifecycle.rebuild(agent, actor="user:u"), now=next(hours))
    agent = failed(lifecycle.rebuild(agent, actor="user:u"), now=next(hours))
    agent = failed(lifecycle.rebuild(agent, actor="user:u"), now=next(hours))
    agent = came_up(lifecycle.rebuild(agent, actor="user:u"), now=next(hours))
    agent = lifecycle.came_down(paused(lifecycle.rebuild(agent, actor="user:u")), now=next(hours))
    agent = came_up(lifecycle.resume(agent, actor="user:u"), now=next(hours))
    lifecycle.is_gone(lifecycle.delete(lifecycle.rebuild(agent, actor="user:u"), actor="user:u"), now=next(hours))
    assert told(new) == [
        {"from": "provisioning", "to": "running"},
        {"from": "running", "to": "running"},
        {"from": "running", "to": "failed"},
        {"from": "provisioning", "to": "failed"},
        {"from": "failed", "to": "running"},
        {"from": "provisioning", "to": "stopped", "reason": "owner"},
        {"from": "stopped", "to": "running"},
        {"from": "provisioning", "to": "deleted"},
    ]


@pytest.mark.parametrize("reason", [Reason.TRIAL, Reason.PAYMENT, Reason.OWNER, Reason.QUOTA])
def test_the_stop_of_a_pod_that_had_failed_is_told_unless_it_is_for_want_of_payment(up: Agent, reason: Reason) -> None:
    lifecycle.came_down(paused(up, reason=reason), now=NOON + HOUR)
    stop = {"to": "stopped", "reason": reason.value}
    assert told(up)[1:] == [{"from": "running", **stop}]
    lifecycle.resume(up, actor="user:u")
    lifecycle.came_down(paused(failed(up, now=NOON + 2 * HOUR), reason=reason), now=NOON + 3 * HOUR)
    unpaid = reason in {Reason.TRIAL, Reason.PAYMENT}
    assert told(up)[3:] == ([] if unpaid else [{"from": "failed", **stop}])


# Recoveries.


@pytest.mark.parametrize(("ran", "counted"), [(2 * MINUTE - timedelta(seconds=1), 4), (2 * MINUTE, 1)])
def test_recoveries_are_counted_until_a_pod_has_run_for_two_minutes(up: Agent, ran: timedelta, counted: int) -> None:
    recovered(saved(up, recoveries=3), now=NOON + ran)
    assert (saved(up).recoveries, saved(up).generation) == (counted, 2)


@pytest.mark.parametrize("request_of", ["rebuild", "move"])
def test_what_people_ask_for_forgets_the_recoveries(up: Agent, request_of: str) -> None:
    REQUESTS[request_of][0](saved(up, recoveries=3))
    assert (saved(up).recoveries, saved(up).generation) == (0, 2)


def test_what_was_put_back_in_a_cluster_is_noted_once_an_hour(up: Agent) -> None:
    for minutes in (0, 59, 60):
        lifecycle.put_back(up, ["Secret/a was gone", "Service/b was changed"], now=NOON + minutes * MINUTE)
    lifecycle.put_back(up, ["Secret/a was gone"], now=NOON + 61 * MINUTE)
    rows = Transition.objects.filter(agent=up, note__startswith="restored").order_by("id")
    both = "restored in its cluster: Secret/a was gone; Service/b was changed"
    assert list(rows.values_list("note", "reason", "actor", "at")) == [
        (both, "recovery", "reconciler", NOON),
        (both, "recovery", "reconciler", NOON + 60 * MINUTE),
        ("restored in its cluster: Secret/a was gone", "recovery", "reconciler", NOON + 61 * MINUTE),
    ]


# Requests that are refused or change nothing.


def test_a_suspended_account_stops_what_its_owner_did_not_stop_and_any_other_reason_outlasts_it(up: Agent) -> None:
    assert paused(up).operation == Reason.OWNER
    assert paused(up, reason=Reason.SUSPENDED).operation == Reason.OWNER
    lifecycle.resume(up, actor="user:u")
    assert paused(up, reason=Reason.SUSPENDED).operation == Reason.SUSPENDED
    assert paused(up, reason=Reason.SUSPENDED).operation == Reason.SUSPENDED
    assert paused(up, reason=Reason.PAYMENT).operation == Reason.PAYMENT
    assert paused(up, reason=Reason.OWNER).operation == Reason.PAYMENT
    stops = Transition.objects.filter(agent=up, note="stop requested").order_by("id")
    assert list(stops.values_list("reason", flat=True)) == ["owner", "suspended", "payment"]


def test_those_that_a_pause_would_change_are_found_in_the_database(make_agent: MakeAgent, stranger: User) -> None:
    runs, by_owner, by_suspension, gone = (came_up(make_agent(user)) for user in (None, None, None, stranger))
    paused(by_owner)
    paused(by_suspension, reason=Reason.SUSPENDED)
    lifecycle.delete(gone, actor="user:u")
    assert set(Agent.objects.filter(lifecycle.pausable(Reason.SUSPENDED))) == {runs}
    assert set(Agent.objects.filter(lifecycle.pausable(Reason.PAYMENT))) == {runs, by_suspension}


def test_nothing_is_started_for_a_closed_account_and_nothing_is_stopped_that_is_being_deleted(up: Agent) -> None:
    User.objects.update(is_active=False)
    for ask in ("rebuild", "move", "resume"):
        with pytest.raises(OwnerSuspended):
            REQUESTS[ask][0](up)
    lifecycle.delete(up, actor="user:u")
    assert paused(up).desired == Desired.DELETED


@pytest.mark.parametrize(
    ("status", "desired"), [("provisioning", "running"), ("stopped", "stopped"), ("running", "stopped")]
)
def test_only_an_agent_that_runs_or_has_failed_moves(up: Agent, status: str, desired: str) -> None:
    with pytest.raises(WrongState, match=f"a move: not possible while the agent is {status}; wait until it runs, or "):
        lifecycle.move(saved(up, status=status, desired=desired), actor="operator:o", why="x")


def test_a_failed_agent_may_move(up: Agent) -> None:
    assert lifecycle.move(failed(up), actor="operator:o", why="x").status == Status.PROVISIONING


def test_a_resume_of_an_agent_that_is_being_stopped_starts_nothing_new(up: Agent) -> None:
    paused(up)
    lifecycle.resume(up, actor="user:v")
    last = Transition.objects.filter(agent=up).latest("id")
    assert (last.note, last.reason, last.actor, last.at) == ("stop cancelled", "resume", "user:v", NOON)
    assert (saved(up).generation, saved(up).status, saved(up).desired) == (1, "running", "running")


def test_refusals_name_what_was_asked_for(new: Agent) -> None:
    for reason, verb in ((Reason.REBUILD, "rebuild"), (Reason.OPERATOR, "rebuild"), (Reason.RESTORE, "restore")):
        with pytest.raises(WrongState, match=f"{verb}: not possible while the agent is provisioning"):
            lifecycle.rebuild(new, actor="user:u", reason=reason)


# The end.


def test_a_deletion_tells_billing_at_once_and_happens_once(up: Agent) -> None:
    for reason in (Reason.EXPIRY, Reason.OWNER):
        lifecycle.delete(up, actor="billing", reason=reason)
    assert (saved(up).term_due_at, saved(up).operation) == (NOON, Reason.EXPIRY)
    assert Transition.objects.filter(agent=up, note="deletion requested").count() == 1


def test_a_deleted_agent_keeps_neither_secrets_nor_logs_nor_messages_and_its_backups_for_some_days(
    up: Agent, settings: Any
) -> None:
    settings.FINAL_BACKUP_DAYS = 7
    texts = dict.fromkeys(("llm_key", "a2a_token", "dash_password"), "hush")
    for name, value in {**texts, "channel_secrets": {"telegram": "hush"}, "mcp_servers": [{"name": "a"}]}.items():
        setattr(up, name, value)
    up.tool_secrets, up.a2a_peers, up.restores = {"search": "hush"}, [{"name": "b"}], "bkp_1"
    up.save()
    KeptLog.objects.create(agent=up, life="1", base=0, size=1, packed=b"x", kept_at=NOON)
    InboundMessage.objects.create(agent=up, channel="whatsapp", name="1", body="{}", received_at=NOON)
    Repository.objects.create(agent=up, password="hush", made_at=NOON)
    lifecycle.is_gone(lifecycle.delete(up, actor="user:u"), now=LATER)
    agent = saved(up)
    assert (agent.llm_key, agent.a2a_token, agent.dash_password, agent.a2a_peers, agent.tool_secrets) == (None,) * 5
    assert (agent.channel_secrets, agent.mcp_servers, agent.restores) == ({}, [], "")
    assert not KeptLog.objects.exists()
    assert not InboundMessage.objects.exists()
    assert Repository.objects.get().expires_at == LATER + 7 * DAY
