"""STATE MACHINE of an agent: what an owner, an operator or billing may ask for, and what the reconciler records.

The first functions change `desired` and wake the reconciler. The others change `status` when the runtime has confirmed
the change. Nothing else assigns a status.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from agents import timeline
from agents.backups import expiry
from agents.backups.nightly import next_night
from agents.cause import UNUSABLE_DATA
from agents.clusters import placement
from agents.configuring import configuration
from agents.domains import claims
from agents.egress import forgetting
from agents.errors import NotEntitled, OwnerSuspended, WrongState
from agents.inbound.models import InboundMessage
from agents.models import Agent, Backup, Desired, KeptLog, Reason, Status, Transition
from agents.replay.models import ReplayEntry
from agents.watching import quota
from catalog import personas
from config import background, states
from webhooks import events
from webhooks.event_types import EventType

PROVISIONING_DEADLINE = timedelta(minutes=10)
TOLD_AGAIN = timedelta(hours=1)
FORGIVEN_AFTER = timedelta(minutes=2)  # after running this long, earlier recoveries are forgotten
SETTLED = {Status.RUNNING, Status.STOPPED, Status.FAILED}

TRANSITIONS: dict[Status, set[Status]] = {
    Status.PROVISIONING: {Status.RUNNING, Status.FAILED, Status.STOPPED, Status.DELETED},
    Status.RUNNING: {Status.PROVISIONING, Status.STOPPED, Status.FAILED, Status.DELETED},
    Status.STOPPED: {Status.PROVISIONING, Status.DELETED},
    Status.FAILED: {Status.PROVISIONING, Status.RUNNING, Status.STOPPED, Status.DELETED},
    Status.DELETED: set(),
}

# Stops because nobody paid. Such a stop of a failed pod sends no event: nothing was running.
UNPAID = {Reason.TRIAL, Reason.PAYMENT}

EVENTS = {
    Status.RUNNING: EventType.AGENT_RUNNING,
    Status.STOPPED: EventType.AGENT_STOPPED,
    Status.FAILED: EventType.AGENT_FAILED,
    Status.DELETED: EventType.AGENT_DELETED,
}


# What people and billing ask for.


@transaction.atomic
def pause(agent: Agent, *, reason: Reason, actor: str, why: str = "") -> Agent:
    """Ask for the pod to stop. `stopped` and its event follow when the runtime confirms the stop. The data is kept.

    `why` is an operator's own sentence. It goes on the timeline, which owners do not see.
    """
    now = timezone.now()
    agent = Agent.objects.lock(agent.pk)
    if agent.desired == Desired.DELETED or (agent.desired == Desired.STOPPED and not _is_held(agent, reason)):
        return agent
    timeline.note(agent, _because("stop requested", why), reason=reason, actor=actor, now=now)
    return _want(agent, Desired.STOPPED, operation=reason, now=now)


@transaction.atomic
def resume(agent: Agent, *, actor: str, why: str = "") -> Agent:
    """Start a stopped pod again. Raises WrongState from provisioning or failed, NotEntitled after the free time."""
    now = timezone.now()
    agent = configuration.locked(agent)
    if agent.status == Status.RUNNING and agent.desired == Desired.RUNNING:
        return agent
    if agent.status == Status.FAILED:
        raise WrongState("resume", agent.status, "POST /agents/{id}/rebuild builds it again")
    if agent.status == Status.PROVISIONING:
        raise WrongState("resume", agent.status, _outlook(agent))
    _guard(agent, now)
    quota.start_afresh(agent, actor=actor, now=now)
    if agent.status == Status.STOPPED:
        _provision(agent, reason=Reason.RESUME, actor=actor, now=now, note=why)
    else:
        timeline.note(agent, _because("stop cancelled", why), reason=Reason.RESUME, actor=actor, now=now)
    return _want(agent, Desired.RUNNING, operation=Reason.RESUME, now=now)


@transaction.atomic
def rebuild(agent: Agent, *, actor: str, reason: Reason = Reason.REBUILD, why: str = "", restores: str = "") -> Agent:
    """Replace the pod and keep its data. The persona's soul is read again. Raises WrongState, NotEntitled.

    With `restores` the data of that backup replaces the present data, which is kept until the new pod is ready. If that
    pod fails, the next rebuild starts with the present data again.

    An agent whose data is lost or damaged gets the data of its newest backup. Without a backup it starts with what is
    there, or with an empty disk; `explain` says so before the owner asks for the rebuild.
    """
    now = timezone.now()
    agent = configuration.locked(agent)
    if agent.status == Status.PROVISIONING:
        raise WrongState(reason if reason == Reason.RESTORE else "rebuild", agent.status, _outlook(agent))
    _guard(agent, now)
    if agent.desired == Desired.STOPPED:
        quota.start_afresh(agent, actor=actor, now=now)
    agent.soul = personas.current_soul(agent.persona_id) or agent.soul
    agent.spec_revision += 1
    agent.recoveries = 0
    if placement.go_back(agent.pk):
        agent.restores, agent.data_expected, agent.cause = "", True, ""  # undoes what the failed move had set
    unusable = agent.cause in UNUSABLE_DATA
    agent.data_expected = agent.data_expected and not unusable
    if unusable and not restores and (newest := newest_backup(agent)):
        restores, why = newest.pk, _because(f"its data is restored from backup {newest.name}", why)
    agent.restores = restores or _still_restores(agent)
    _replace(agent, reason=reason, actor=actor, now=now, note=why)
    also = ("soul", "spec_revision", "recoveries", "data_expected", "restores")
    return _want(agent, Desired.RUNNING, operation=reason, now=now, also=also)


@transaction.atomic
def move(agent: Agent, *, actor: str, why: str) -> Agent:
    """Replace the pod by one in another cluster (agents/clusters/moving.py). Raises WrongState, NotEntitled."""
    now = timezone.now()
    agent = configuration.locked(agent)
    if agent.status not in {Status.RUNNING, Status.FAILED} or agent.desired != Desired.RUNNING:
        raise WrongState("a move", agent.status, "wait until it runs, or has stopped")
    _guard(agent, now)
    agent.recoveries = 0
    _replace(agent, reason=Reason.MOVE, actor=actor, now=now, note=why)
    return _want(agent, Desired.RUNNING, operation=Reason.MOVE, now=now, also=("recoveries",))


@transaction.atomic
def delete(agent: Agent, *, actor: str, reason: Reason = Reason.OWNER, why: str = "") -> Agent:
    """Ask for the pod and its data to be removed. Reads answer 404 at once. `deleted` and its event follow when the
    runtime confirms the removal."""
    now = timezone.now()
    agent = Agent.objects.lock(agent.pk)
    if agent.desired == Desired.DELETED:
        return agent
    timeline.note(agent, _because("deletion requested", why), reason=reason, actor=actor, now=now)
    claims.let_go(agent, actor=actor, now=now)
    agent.term_due_at = now  # billing looks at what is paid
    return _want(agent, Desired.DELETED, operation=reason, now=now, also=("term_due_at",))


@transaction.atomic(savepoint=False)
def begin(agent: Agent, *, actor: str, now: datetime, note: str = "created") -> Agent:
    """Write the first row of a new agent's timeline, in the transaction that creates the agent."""
    timeline.note(agent, note, reason=Reason.CREATE, actor=actor, now=now)
    background.on_commit("agents.reconcile", agent.id)
    return agent


# What the runtime has confirmed; the reconciler calls these.


@transaction.atomic
def came_up(agent: Agent, *, generation: int, public_url: str, now: datetime) -> Agent:
    """The pod of this generation is ready: the agent is `running`. Does nothing for an older pod, or for a pod that is
    no longer wanted."""
    agent = Agent.objects.lock(agent.pk)
    if agent.desired != Desired.RUNNING or agent.generation != generation or agent.status == Status.RUNNING:
        return agent
    reason = Reason.RECOVERY if agent.status == Status.FAILED else Reason(agent.operation)
    first = not agent.was_running
    agent.dseq = agent.namespace
    agent.endpoint_url = public_url
    agent.was_running = agent.data_expected = True
    agent.backup_due_at = agent.backup_due_at or next_night(agent.pk, after=now)
    agent.restores = ""
    placement.arrived(agent.pk)
    agent.cause = agent.cause_message = ""
    agent.cause_evidence = []
    agent.lost_since = None
    fields = ("dseq", "endpoint_url", "was_running", "data_expected", "restores", "backup_due_at", "lost_since")
    causes = ("cause", "cause_message", "cause_evidence")
    agent = _move(agent, Status.RUNNING, reason=reason, actor="reconciler", now=now, also=(*fields, *causes))
    if first:
        personas.count_deployment(agent.persona_id)
    return agent


@transaction.atomic
def came_down(agent: Agent, *, now: datetime) -> Agent:
    """No process of the pod is left, and none is wanted: the agent is `stopped`."""
    agent = Agent.objects.lock(agent.pk)
    if agent.desired != Desired.STOPPED or agent.status == Status.STOPPED:
        return agent
    return _move(agent, Status.STOPPED, reason=Reason(agent.operation), actor="reconciler", now=now)


@transaction.atomic
def is_gone(agent: Agent, *, now: datetime) -> Agent:
    """Pod and data are gone: the agent is `deleted`, for good. Its secrets and logs are deleted too."""
    agent = Agent.objects.lock(agent.pk)
    if agent.desired != Desired.DELETED or agent.status == Status.DELETED:
        return agent
    agent.llm_key = None
    agent.channel_secrets = {}
    agent.mcp_servers = []
    agent.tool_secrets = agent.a2a_peers = None
    agent.a2a_token = agent.dash_password = None
    agent.restores = ""
    KeptLog.objects.filter(agent=agent).delete()
    ReplayEntry.objects.filter(agent=agent).delete()
    forgetting.erase([agent.pk])
    InboundMessage.objects.filter(agent=agent).delete()
    expiry.begin(agent.pk, now=now)
    secrets = ("llm_key", "channel_secrets", "tool_secrets", "mcp_servers", "a2a_peers", "a2a_token", "dash_password")
    fields = (*secrets, "restores")
    return _move(agent, Status.DELETED, reason=Reason(agent.operation), actor="reconciler", now=now, also=fields)


@transaction.atomic
def fail(agent: Agent, *, generation: int, cause: str, message: str, evidence: list[str], now: datetime) -> Agent:
    """The pod of this generation did not come up: the agent is `failed`. The cause is shown on the timeline and by
    `explain`."""
    agent = Agent.objects.lock(agent.pk)
    if agent.desired != Desired.RUNNING or agent.generation != generation or agent.status == Status.FAILED:
        return agent
    agent.cause, agent.cause_message, agent.cause_evidence = cause, message, evidence
    fields = ("cause", "cause_message", "cause_evidence")
    reason = Reason(agent.operation)
    return _move(
        agent, Status.FAILED, reason=reason, actor="reconciler", now=now, note=f"{cause}: {message}", also=fields
    )


@transaction.atomic
def recover(agent: Agent, *, generation: int, note: str, now: datetime) -> Agent:
    """The pod of a running agent is gone: start a new one without being asked."""
    agent = Agent.objects.lock(agent.pk)
    if agent.desired != Desired.RUNNING or agent.generation != generation or agent.status != Status.RUNNING:
        return agent
    agent.recoveries = 1 if now - agent.status_since >= FORGIVEN_AFTER else agent.recoveries + 1
    _replace(agent, reason=Reason.RECOVERY, actor="reconciler", now=now, note=note)
    return _want(agent, Desired.RUNNING, operation=Reason.RECOVERY, now=now, also=("recoveries",))


@transaction.atomic
def restore_instead(agent: Agent, *, generation: int, found: str, now: datetime) -> bool:
    """A rebuild found the data gone or damaged: start the next pod with the newest backup. False when there is no
    backup.

    A restore that was asked for goes first. A restore that failed is only tried again when somebody asks.
    """
    agent = Agent.objects.lock(agent.pk)
    rebuilds = agent.operation == Reason.REBUILD and agent.status == Status.PROVISIONING
    if agent.desired != Desired.RUNNING or agent.generation != generation or not rebuilds or agent.restores:
        return False
    newest = newest_backup(agent)
    if newest is None:
        return False
    agent.generation, agent.restores, agent.deadline_at = generation + 1, newest.pk, now + PROVISIONING_DEADLINE
    note = f"{found}: its data is restored from backup {newest.name}"
    timeline.note(agent, note, reason=Reason.RESTORE, actor="reconciler", now=now)
    also = ("generation", "restores", "deadline_at")
    _want(agent, Desired.RUNNING, operation=Reason.REBUILD, now=now, also=also)
    return True


@transaction.atomic
def put_back(agent: Agent, what: Sequence[str], *, now: datetime) -> None:
    """Note on the timeline that the pod's objects were changed in its cluster and put back. The same note is written
    once an hour at most."""
    note = f"restored in its cluster: {'; '.join(what)}"
    told = Transition.objects.filter(agent=agent, reason=Reason.RECOVERY, note=note, at__gt=now - TOLD_AGAIN)
    if not told.exists():
        timeline.note(Agent.objects.lock(agent.pk), note, reason=Reason.RECOVERY, actor="reconciler", now=now)


# The state machine.


def _still_restores(agent: Agent) -> str:
    """The backup of an earlier restore, for an agent that has no data yet: it has nothing else to start with. ""
    otherwise."""
    if agent.data_expected or not agent.restores:
        return ""
    there = Backup.objects.there().filter(pk=agent.restores).exists()
    return agent.restores if there else ""


def newest_backup(agent: Agent) -> Backup | None:
    """The newest backup with whole databases, else the newest one. Damage may be older than the newest backup."""
    there = Backup.objects.there().filter(agent=agent)
    return (there.filter(broken=0).first() or there.first()) if settings.BACKUP_STORE else None


def _outlook(agent: Agent) -> str:
    """What the owner of an agent that is being provisioned should wait for."""
    return "it is being stopped: wait for stopped" if agent.desired == Desired.STOPPED else "wait for running or failed"


def _guard(agent: Agent, now: datetime) -> None:
    """Raise unless the pod may be started: its account is open, and the agent is paid for or free.

    Raises OwnerSuspended, NotEntitled.
    """
    if User.objects.filter(pk=agent.user_id, is_active=False).exists():
        raise OwnerSuspended
    if not agent.is_entitled(now):
        raise NotEntitled(agent.id)


def pausable(reason: Reason) -> Q:
    """The agents for which `pause` changes anything."""
    held = Q() if reason == Reason.SUSPENDED else Q(desired=Desired.STOPPED, operation=Reason.SUSPENDED)
    return Q(desired=Desired.RUNNING) | held


def _is_held(agent: Agent, reason: Reason) -> bool:
    """Whether the agent is stopped only because its account is suspended, and `reason` outlasts the suspension."""
    return agent.operation == Reason.SUSPENDED and reason != Reason.SUSPENDED


def _because(asked: str, why: str) -> str:
    return f"{asked}: {why}" if why else asked


def _want(agent: Agent, desired: Desired, *, operation: Reason, now: datetime, also: tuple[str, ...] = ()) -> Agent:
    agent.desired, agent.operation, agent.reconcile_at, agent.attempts = desired, operation, now, 0
    agent.save(update_fields=["desired", "operation", "reconcile_at", "attempts", *also])
    background.on_commit("agents.reconcile", agent.id)
    return agent


def _provision(agent: Agent, *, reason: Reason, actor: str, now: datetime, note: str = "") -> Agent:
    agent.deadline_at = now + PROVISIONING_DEADLINE
    agent.cause = agent.cause_message = ""
    agent.cause_evidence = []
    fields = ("deadline_at", "cause", "cause_message", "cause_evidence")
    return _move(agent, Status.PROVISIONING, reason=reason, actor=actor, now=now, note=note, also=fields)


def _replace(agent: Agent, *, reason: Reason, actor: str, now: datetime, note: str = "") -> Agent:
    """Start a new generation in a new namespace. The reconciler removes the old pod before it starts the new one."""
    agent.generation += 1
    agent.save(update_fields=["generation"])
    return _provision(agent, reason=reason, actor=actor, now=now, note=note)


def _move(
    agent: Agent, to: Status, *, reason: Reason, actor: str, now: datetime, note: str = "", also: tuple[str, ...] = ()
) -> Agent:
    """The only function that assigns a status: refuse, change, record, emit. The caller holds the row's lock.

    Raises IllegalTransition.
    """
    states.check(TRANSITIONS, Status(agent.status), to, of=agent.id)
    before, settled = agent.status, agent.settled_status
    agent.status, agent.status_since = to, now
    agent.settled_status = to if to in SETTLED else settled
    agent.save(update_fields=["status", "status_since", "settled_status", *also])
    timeline.note(agent, note, reason=reason, actor=actor, now=now, came_from=before)
    event_type = EVENTS.get(to)
    if event_type and not (before == Status.FAILED and to == Status.STOPPED and reason in UNPAID):
        came_from = _told_from(before, settled, to)
        data = {"from": came_from, "to": to.value} | ({"reason": reason.value} if to == Status.STOPPED else {})
        events.emit(agent, event_type, data, now=now)
    return agent


def _told_from(before: str, settled: str, to: Status) -> str:
    """The value of `from` in an event.

    A pod that came up or failed ends an operation. Its event names the last settled status before that operation, so
    the rebuild of a running agent goes from `running` to `running`. A stop or a deletion may interrupt an operation.
    Its event names the status at that moment, which may be `provisioning`. The same holds for a rebuild that fails like
    the one before it.
    """
    is_same_failure = to == Status.FAILED and settled == Status.FAILED
    return before if to in {Status.STOPPED, Status.DELETED} or is_same_failure else settled
