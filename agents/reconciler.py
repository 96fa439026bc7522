"""The level-triggered reconciler: claim an agent, take its next step, write down what came of it.

A claim is a lease in the row, so a killed worker's agent is taken up again when the lease ends. All runtime calls
happen between transactions; what they found is recorded by agents/lifecycle.py under the row's lock.
"""

from __future__ import annotations

import logging
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.utils import timezone

from agents import lifecycle, plan, pods
from agents.models import Agent, Desired, Status
from agents.plan import Step
from agents.runtimes import current_runtime
from agents.runtimes.base import Observation, Phase, Runtime, RuntimeFailure

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
SOON = timedelta(seconds=1)
RETRY_CAP_SECONDS = 60
BATCH = 200
# Steps that write a verdict; they are taken only on what the runtime shows right now.
DECISIVE = {Step.COME_UP, Step.COME_DOWN, Step.FAIL, Step.RECOVER}

Observations = dict[str, Observation]


def reconcile_due(now: datetime | None = None) -> int:
    """Take one step for each agent that is due or whose pod is not as wanted. Returns how many were due."""
    now = now or timezone.now()
    runtime = current_runtime()
    observed = runtime.observe()
    mark_drift(observed, now)
    due = list(Agent.objects.due(now).values_list("id", flat=True)[:BATCH])
    for agent_id in due:
        reconcile(agent_id, runtime=runtime, observed=observed)
    return len(due)


def reconcile(agent_id: str, *, runtime: Runtime | None = None, observed: Observations | None = None) -> None:
    """Take this agent's next step, unless another worker is at it; then that one, or the scan, will."""
    now = timezone.now()
    agent = _claim(agent_id, now)
    if agent is None:
        return
    runtime = runtime or current_runtime()
    try:
        step = _take_step(agent, runtime, observed if observed is not None else runtime.observe())
        _release(agent, wait=_pause_after(step), failed=False)
    except RuntimeFailure as failure:
        log.warning("step failed", extra={"agent": agent.id, "cause": failure.cause, "error": str(failure)})
        _note_trouble(agent, failure)
        _release(agent, wait=_backoff(agent.attempts), failed=True)
    except Exception:
        log.exception("reconcile failed", extra={"agent": agent.id})
        _release(agent, wait=_backoff(agent.attempts), failed=True)


def mark_drift(observed: Observations, now: datetime) -> None:
    """Make due every settled agent whose pod is not what its row says; one statement for the whole fleet."""
    ready = RawSQL("suffix = ANY(%s)", [[suffix_of(name) for name, pod in observed.items() if pod.phase == Phase.READY]])
    settled = Agent.objects.filter(desired=Desired.RUNNING, reconcile_at__isnull=True).annotate(ready=ready)
    drifted = (
        Q(status=Status.RUNNING, ready=False)
        | Q(status=Status.RUNNING, ready=True, lost_since__isnull=False)
        | Q(status=Status.FAILED, ready=True)
    )
    settled.filter(drifted).update(reconcile_at=now)


def _claim(agent_id: str, now: datetime) -> Agent | None:
    """Lease the row. The due time moves behind the lease, so that a crash in between is found by the scan."""
    token = secrets.token_hex(8)
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    taken = Agent.objects.filter(free, pk=agent_id).update(
        lease_until=now + LEASE, lease_token=token, reconcile_at=now + LEASE
    )
    return Agent.objects.filter(pk=agent_id, lease_token=token).first() if taken else None


def _release(agent: Agent, *, wait: timedelta | None, failed: bool) -> None:
    """Give the lease back. What was asked for meanwhile has set an earlier due time, which stays."""
    now = timezone.now()
    mine = Agent.objects.filter(pk=agent.pk, lease_token=agent.lease_token)
    attempts = F("attempts") + 1 if failed else 0
    with transaction.atomic():
        mine.filter(reconcile_at=agent.reconcile_at).update(reconcile_at=now + wait if wait is not None else None)
        mine.update(lease_until=None, lease_token="", attempts=attempts)


def _pause_after(step: Step) -> timedelta | None:
    """Until when the agent rests after this step; None until something changes."""
    if step in {Step.REST, Step.COME_UP, Step.COME_DOWN, Step.FORGET, Step.FAIL}:
        return None
    return SOON


def _backoff(attempts: int) -> timedelta:
    return timedelta(seconds=min(RETRY_CAP_SECONDS, 2 ** min(attempts, 6)))


def _take_step(agent: Agent, runtime: Runtime, observed: Observations) -> Step:
    now = timezone.now()
    step, pod, earlier = _look(agent, observed, now)
    if step in DECISIVE:
        step, pod, earlier = _look(agent, runtime.observe(), now)
    _remember_loss(agent, pod, now)
    match step:
        case Step.CLEAR:
            for namespace in earlier:
                runtime.delete(namespace, agent_id=agent.id, data=False)
        case Step.DEPLOY:
            runtime.deploy(pods.spec_of(agent))
        case Step.CONFIGURE:
            _configure(agent, runtime)
        case Step.COME_UP:
            _come_up(agent, runtime, now)
        case Step.STOP:
            runtime.stop(agent.namespace)
        case Step.COME_DOWN:
            lifecycle.came_down(agent, now=now)
        case Step.DELETE:
            return _delete(agent, runtime, earlier, now)
        case Step.RECOVER:
            lifecycle.recover(agent, generation=agent.generation, note=_loss_of(pod), now=now)
        case Step.FAIL:
            _fail(agent, pod, now)
        case Step.WAIT if plan.is_installing(pod):
            _extend_deadline(agent, now)
    return step


def _look(agent: Agent, observed: Observations, now: datetime) -> tuple[Step, Observation | None, list[str]]:
    pod = observed.get(agent.namespace)
    earlier = [name for name in observed if suffix_of(name) == agent.suffix and name != agent.namespace]
    return plan.next_step(agent, pod=pod, earlier=earlier, now=now), pod, earlier


def suffix_of(namespace: str) -> str:
    """The agent's part of `pod-<suffix>-<generation>`."""
    return namespace.removeprefix("pod-").rsplit("-", 1)[0]


def _configure(agent: Agent, runtime: Runtime) -> None:
    """In place; a pod that cannot take it now is completed first, which gives it the new revision too."""
    spec = pods.spec_of(agent)
    try:
        runtime.configure(spec)
    except RuntimeFailure as failure:
        log.info("configure failed, deploying", extra={"agent": agent.id, "error": str(failure)})
        runtime.deploy(spec)


def _come_up(agent: Agent, runtime: Runtime, now: datetime) -> None:
    endpoint = runtime.endpoint(agent.namespace)
    if endpoint is None:
        raise RuntimeFailure("the pod is ready but has no address", cause="NO_ADDRESS")
    lifecycle.came_up(agent, generation=agent.generation, public_url=endpoint.public_url, now=now)


def _delete(agent: Agent, runtime: Runtime, earlier: list[str], now: datetime) -> Step:
    for namespace in [*earlier, agent.namespace]:
        runtime.delete(namespace, agent_id=agent.id, data=True)
    if any(suffix_of(name) == agent.suffix for name in runtime.observe()):
        return Step.DELETE
    lifecycle.is_gone(agent, now=now)
    return Step.FORGET


def _fail(agent: Agent, pod: Observation | None, now: datetime) -> None:
    cause = (pod.cause if pod else None) or agent.cause or ("BOOT_TIMEOUT" if agent.status == Status.PROVISIONING else "POD_LOST")
    message = (pod.message if pod else None) or agent.cause_message or "the pod did not become ready in time"
    evidence = pod.evidence if pod else []
    lifecycle.fail(agent, generation=agent.generation, cause=cause, message=message, evidence=evidence, now=now)


def _loss_of(pod: Observation | None) -> str:
    return "the pod is gone" if pod is None else f"{pod.cause or pod.phase}: {pod.message or 'the pod is not healthy'}"


def _remember_loss(agent: Agent, pod: Observation | None, now: datetime) -> None:
    """Since when a running agent is without a healthy pod; forgotten once it is healthy again."""
    if agent.status != Status.RUNNING:
        return
    healthy = pod is not None and pod.phase == Phase.READY
    if healthy and agent.lost_since is not None:
        Agent.objects.filter(pk=agent.pk).update(lost_since=None)
    if not healthy and agent.lost_since is None:
        Agent.objects.filter(pk=agent.pk).update(lost_since=now)


def _extend_deadline(agent: Agent, now: datetime) -> None:
    Agent.objects.filter(pk=agent.pk, status=Status.PROVISIONING).update(deadline_at=now + lifecycle.PROVISIONING_DEADLINE)


def _note_trouble(agent: Agent, failure: RuntimeFailure) -> None:
    """A permanent refusal of the runtime ends provisioning at once; else its cause is kept for the deadline."""
    now = timezone.now()
    if failure.permanent and agent.status == Status.PROVISIONING:
        lifecycle.fail(agent, generation=agent.generation, cause=failure.cause, message=str(failure), evidence=[], now=now)
        return
    Agent.objects.filter(pk=agent.pk).update(cause=failure.cause, cause_message=str(failure))
