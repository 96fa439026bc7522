"""The level-triggered reconciler: lease an agent, take its next step, record the result.

The lease is in the row (leases.py), so when a worker is killed, another one takes the agent when the lease ends. All
calls of the runtime happen between transactions. lifecycle.py records what they found, under the row's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone

from agents.backups import restoring, safeguard
from agents.backups.models import Kind
from agents.cause import Cause
from agents.channel_health import looking
from agents.clusters import moving
from agents.models import Agent, Desired, Reason, Status
from agents.running import drift, identity, leases, lifecycle, plan, pods
from agents.running.plan import PlanStep
from agents.running.turns import OneAtATime
from agents.runtimes import current_runtime, reports_changes
from agents.runtimes.base import Observation, Phase, PodSpec, Runtime, RuntimeFailure
from agents.spending import exchanging
from agents.watching import causes, kept_logs
from config import background, log_context
from config.crypto import UnreadableSecret

log = logging.getLogger(__name__)

SOON = timedelta(seconds=1)
# By then the observer has seen the objects that were put back.
SEEN_AGAIN = timedelta(seconds=5)
RETRY_CAP_SECONDS = 60
BATCH = 200
# An observer makes an agent due as soon as its pod changes. Where there is one, all pods are compared with their rows
# only this often: for a change whose observer was killed before it could say so.
COMPARED_EVERY = timedelta(seconds=10)
# Steps that record a decision. They are taken only on what the runtime shows at that moment.
DECISIVE = {PlanStep.COME_UP, PlanStep.COME_DOWN, PlanStep.FAIL, PlanStep.RECOVER}

Observations = dict[str, Observation]

# Only one scan at a time, so that a worker's other threads are free for what was just asked for. A scan that hangs on a
# slow runtime must not keep the others waiting.
_scans = OneAtATime(hold_seconds=3.0)


class _Comparison:
    """The last comparison of all pods, of this process."""

    at: datetime | None = None


_compared = _Comparison()


def reconcile_due(now: datetime | None = None) -> int:
    """Take one step for each agent that is due or whose pod is not as wanted. Returns how many were due."""
    with _scans.take() as ours:
        return _scan(now or timezone.now()) if ours else 0


def _scan(now: datetime) -> int:
    runtime = current_runtime()
    observed = compare(runtime, now=now) if _is_comparison_due(runtime, now) else None
    due = leases.due(now, limit=BATCH)
    with background.gathered():
        for agent_id in due:
            # Another worker may have stepped the agent after `observed` was taken. It then set a later due time, and
            # this take returns None.
            if agent := leases.take(agent_id, now=timezone.now(), due=now):
                _step(agent, runtime, observed)
    return len(due)


def _is_comparison_due(runtime: Runtime, now: datetime) -> bool:
    if not reports_changes(runtime) or _compared.at is None:
        return True
    return not timedelta(0) <= now - _compared.at < COMPARED_EVERY


def compare(runtime: Runtime, *, now: datetime) -> Observations:
    """Make each agent due whose pod is not as wanted. Returns all pods."""
    observed = runtime.observe()
    wanted = {pods.suffix_of(name) for name, pod in observed.items() if plan.is_as_wanted(pod)}
    astray = {pods.suffix_of(name) for name, pod in observed.items() if plan.runs_astray(pod)}
    drift.mark(wanted, astray=astray, now=now)
    _compared.at = now
    return observed


def reconcile(agent_id: str, *, observed: Observations | None = None) -> None:
    """Take this agent's next step. If another worker has the agent, that worker or the scan takes the step."""
    if agent := leases.take(agent_id, now=timezone.now()):
        _step(agent, current_runtime(), observed)


def _step(agent: Agent, runtime: Runtime, observed: Observations | None) -> None:
    """Take one step of a leased agent. The lease is given back whatever happens."""
    with log_context.about(agentId=agent.id):
        step = _step_of(agent, runtime, observed)
        if step == PlanStep.CLEAR and _is_clear(agent, runtime):
            background.on_commit("agents.reconcile", agent.id)  # its new pod need not wait for the next scan


def _is_clear(agent: Agent, runtime: Runtime) -> bool:
    """Whether nothing is left of the agent's earlier pods. Where that cannot be seen now, the scan sees it later."""
    try:
        return not runtime.observe(agent.suffix)
    except RuntimeFailure:
        return False


def _step_of(agent: Agent, runtime: Runtime, observed: Observations | None) -> PlanStep | None:
    """The step that was taken; None if it failed."""
    try:
        step = _take_step(agent, runtime, observed)
        leases.give_back(agent, wait=_pause_after(step), failed=False)
    except RuntimeFailure as failure:
        log.warning("step failed", extra={"agent": agent.id, "cause": failure.cause, "error": str(failure)})
        _note_trouble(agent, failure)
        leases.give_back(agent, wait=_backoff(agent.attempts), failed=True)
    except Exception:
        log.exception("reconcile failed", extra={"agent": agent.id})
        leases.give_back(agent, wait=_backoff(agent.attempts), failed=True)
    else:
        return step
    return None


def _pause_after(step: PlanStep) -> timedelta | None:
    """How long the agent rests after this step; None until something changes.

    Only a step that found nothing to do lets the agent rest: something may have been asked for while the pod came up.
    """
    if step == PlanStep.REPAIR:
        return SEEN_AGAIN
    return None if step == PlanStep.REST else SOON


def _backoff(attempts: int) -> timedelta:
    return timedelta(seconds=min(RETRY_CAP_SECONDS, 2 ** min(attempts, 6)))


@dataclass(frozen=True, slots=True)
class Look:
    """One agent at one moment: its row, its pod, and the pods of earlier generations that still exist."""

    agent: Agent
    pod: Observation | None
    earlier: list[str]
    runtime: Runtime
    now: datetime

    @property
    def step(self) -> PlanStep:
        return plan.next_step(self.agent, pod=self.pod, earlier=self.earlier, now=self.now)


def look_at(agent: Agent) -> Look:
    """What is seen of the agent now, and so its next step. Raises RuntimeFailure."""
    runtime = current_runtime()
    return _look(agent, runtime, runtime.observe(agent.suffix))


def _look(agent: Agent, runtime: Runtime, observed: Observations) -> Look:
    earlier = [name for name in observed if pods.suffix_of(name) == agent.suffix and name != agent.namespace]
    return Look(agent, observed.get(agent.namespace), earlier, runtime, timezone.now())


def _take_step(agent: Agent, runtime: Runtime, observed: Observations | None) -> PlanStep:
    look = _look(agent, runtime, runtime.observe(agent.suffix) if observed is None else observed)
    if observed is not None and look.step in DECISIVE:
        look = _look(agent, runtime, runtime.observe(agent.suffix))
    step = look.step
    _remember_loss(look)
    if act := ACTS.get(step):
        act(look)
    return step


def _clear(look: Look) -> None:
    """Remove the pods of earlier generations. When an owner replaced the pod, a backup is made first; that time does
    not count against the new pod."""
    agent = look.agent
    replaces = agent.operation in {Reason.REBUILD, Reason.RESTORE, Reason.MOVE} and agent.desired == Desired.RUNNING
    if replaces and not safeguard.passed(agent, kind=Kind.REBUILD, namespaces=look.earlier, runtime=look.runtime):
        _grant_time(look)
        return
    if replaces and agent.operation == Reason.MOVE:
        moving.set_out(agent, now=look.now)
    for namespace in look.earlier:
        kept_logs.keep(look.agent, namespace)
        exchanging.keep(look.agent, namespace)
        look.runtime.delete(namespace, agent_id=look.agent.id, data=False)


def _spec_of(agent: Agent) -> PodSpec:
    """The specification of the agent's pod. A secret that cannot be decrypted ends the step: only its owner can set it
    again.

    Raises RuntimeFailure.
    """
    try:
        return pods.spec_of(identity.ensured(agent))
    except UnreadableSecret as lost:
        raise RuntimeFailure(lost.message, cause=Cause.SECRET_LOST, permanent=True) from lost


def _configure(look: Look) -> None:
    """Change the configuration in place. A pod that cannot take it now is deployed again, which also brings the new
    revision."""
    spec = _spec_of(look.agent)
    try:
        look.runtime.configure(spec)
    except RuntimeFailure as failure:
        log.info("configure failed, deploying", extra={"agent": look.agent.id, "error": str(failure)})
        look.runtime.deploy(spec)
    exchanging.refresh(look.agent)
    looking.begin(look.agent)


def _come_up(look: Look) -> None:
    endpoint = look.runtime.endpoint(look.agent.namespace)
    if endpoint is None:
        raise RuntimeFailure("the pod is ready but has no address", cause=Cause.NO_ADDRESS)
    look.runtime.secure(look.agent.namespace)
    if not look.agent.data_expected:
        # The pod is told before this is recorded: if the worker is killed in between, the next step comes here again.
        look.runtime.expect_data(replace(_spec_of(look.agent), data_expected=True))
    lifecycle.came_up(look.agent, generation=look.agent.generation, public_url=endpoint.public_url, now=look.now)
    exchanging.refresh(look.agent)
    looking.begin(look.agent)


def _repair(look: Look) -> None:
    if put_back := look.runtime.repair(_spec_of(look.agent)):
        lifecycle.put_back(look.agent, put_back, now=look.now)
        look.runtime.told(look.agent.namespace, put_back)


def _wait(look: Look) -> None:
    """Give more time while an engine is installed or a backup restored: that does not count against the deadline."""
    restores = look.pod is not None and look.pod.phase == Phase.RESTORING
    if restores:
        restoring.drive(look.agent, look.runtime)
    if restores or plan.is_installing(look.pod):
        _grant_time(look)


def _grant_time(look: Look) -> None:
    provisioning = Agent.objects.filter(pk=look.agent.pk, status=Status.PROVISIONING)
    provisioning.update(deadline_at=look.now + lifecycle.PROVISIONING_DEADLINE)


def _stop(look: Look) -> None:
    """Stop the pod, after its safety backup. This step repeats until the pod has stopped, so its last log lines are
    kept too."""
    if not safeguard.stop_passed(look.agent, pod=look.pod, now=look.now):
        return
    if look.pod and look.pod.gateway_alive:
        kept_logs.keep(look.agent, look.agent.namespace)
        exchanging.keep(look.agent, look.agent.namespace)
    look.runtime.stop(look.agent.namespace)


def _recover(look: Look) -> None:
    pod, note = look.pod, "the pod is gone"
    if pod is not None:
        note = f"{pod.cause or pod.phase}: {pod.message or 'the pod is not healthy'}"
    lifecycle.recover(look.agent, generation=look.agent.generation, note=note, now=look.now)


def _fail(look: Look) -> None:
    agent, pod = look.agent, look.pod
    unknown = Cause.BOOT_TIMEOUT if agent.status == Status.PROVISIONING else Cause.POD_LOST
    words = "the pod did not become ready in time"
    cause, message, evidence = causes.last_known(agent, pod, otherwise=unknown, words=words)
    if plan.has_lost_data(pod) and lifecycle.restore_instead(
        agent, generation=agent.generation, found=cause, now=look.now
    ):
        return
    if moving.go_back(agent, generation=agent.generation, why=f"{cause}: {message}", now=look.now):
        return
    lifecycle.fail(agent, generation=agent.generation, cause=cause, message=message, evidence=evidence, now=look.now)


def _delete(look: Look) -> None:
    """Remove every pod of the agent with its data. The deletion is confirmed as soon as the runtime sees none of
    them."""
    names = [look.agent.namespace, *look.earlier]
    if not safeguard.passed(look.agent, kind=Kind.FINAL, namespaces=names, runtime=look.runtime):
        return
    for namespace in [*look.earlier, look.agent.namespace]:
        look.runtime.delete(namespace, agent_id=look.agent.id, data=True)
    if not look.runtime.observe(look.agent.suffix):
        lifecycle.is_gone(look.agent, now=look.now)


ACTS: dict[PlanStep, Callable[[Look], object]] = {
    PlanStep.WAIT: _wait,
    PlanStep.CLEAR: _clear,
    PlanStep.DEPLOY: lambda look: look.runtime.deploy(_spec_of(look.agent)),
    PlanStep.CONFIGURE: _configure,
    PlanStep.REPAIR: _repair,
    PlanStep.COME_UP: _come_up,
    PlanStep.FAIL: _fail,
    PlanStep.RECOVER: _recover,
    PlanStep.STOP: _stop,
    PlanStep.COME_DOWN: lambda look: lifecycle.came_down(look.agent, now=look.now),
    PlanStep.DELETE: _delete,
}


def _remember_loss(look: Look) -> None:
    """Note since when a running agent has no healthy pod. Forget that once the pod is healthy again."""
    agent = look.agent
    if agent.status != Status.RUNNING:
        return
    healthy = plan.is_healthy(look.pod)
    if healthy and agent.lost_since is not None:
        Agent.objects.filter(pk=agent.pk).update(lost_since=None, cause="", cause_message="")
    if not healthy and agent.lost_since is None:
        Agent.objects.filter(pk=agent.pk).update(lost_since=look.now)


def _note_trouble(agent: Agent, failure: RuntimeFailure) -> None:
    """A permanent refusal of the runtime ends provisioning at once. Any other cause is kept until the deadline.

    A failed agent keeps the cause of its failure, and a trouble of another generation is not noted for this one.
    """
    now = timezone.now()
    if failure.permanent and agent.status == Status.PROVISIONING:
        why = f"{failure.cause}: {failure}"
        if moving.go_back(agent, generation=agent.generation, why=why, now=now):
            return
        lifecycle.fail(
            agent, generation=agent.generation, cause=failure.cause, message=str(failure), evidence=[], now=now
        )
        return
    same = Agent.objects.filter(pk=agent.pk, generation=agent.generation).exclude(status=Status.FAILED)
    same.update(cause=failure.cause, cause_message=str(failure))
