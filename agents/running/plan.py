"""Which step the reconciler takes next for one agent: a pure function of the row, what the runtime sees, and the
time."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from agents.cause import UNUSABLE_DATA
from agents.models import Agent, Desired, Reason, Status
from agents.running.lifecycle import FORGIVEN_AFTER
from agents.runtimes.base import Observation, Phase

UNHEALTHY_LIMIT = timedelta(minutes=10)
MAX_RECOVERIES = 5
RECOVERY_BACKOFF = timedelta(seconds=5)
# By then the observer has seen all objects that a deploy made. An object that differs after that has been changed.
NEW = timedelta(seconds=10)


class PlanStep(StrEnum):
    REST = "rest"
    WAIT = "wait"
    CLEAR = "clear"  # remove pods of earlier generations
    DEPLOY = "deploy"
    CONFIGURE = "configure"
    REPAIR = "repair"  # put back what somebody has changed in the cluster
    COME_UP = "come_up"
    FAIL = "fail"
    RECOVER = "recover"
    STOP = "stop"
    COME_DOWN = "come_down"
    DELETE = "delete"


def next_step(agent: Agent, *, pod: Observation | None, earlier: list[str], now: datetime) -> PlanStep:
    """The next idempotent step. `pod` is this generation's pod; `earlier` has the namespaces of older pods that still
    exist."""
    match Desired(agent.desired):
        case Desired.DELETED:
            return _towards_deleted(agent, pod, earlier)
        case Desired.STOPPED:
            return _towards_stopped(agent, pod, earlier)
        case Desired.RUNNING:
            return PlanStep.CLEAR if earlier else _towards_running(agent, pod, now)


def _towards_deleted(agent: Agent, pod: Observation | None, earlier: list[str]) -> PlanStep:
    if agent.status == Status.DELETED:
        return PlanStep.DELETE if pod or earlier else PlanStep.REST
    return PlanStep.DELETE


def _towards_stopped(agent: Agent, pod: Observation | None, earlier: list[str]) -> PlanStep:
    if earlier:
        return PlanStep.CLEAR
    if pod and pod.phase != Phase.STOPPED:
        return PlanStep.STOP
    return PlanStep.REST if agent.status == Status.STOPPED else PlanStep.COME_DOWN


def _towards_running(agent: Agent, pod: Observation | None, now: datetime) -> PlanStep:
    match Status(agent.status):
        case Status.PROVISIONING:
            return _provision(agent, pod, now)
        case Status.RUNNING:
            return _keep_running(agent, pod, now)
        case Status.FAILED:
            return _after_failure(agent, pod)
        case _:
            return PlanStep.REST


def _provision(agent: Agent, pod: Observation | None, now: datetime) -> PlanStep:
    if is_healthy(pod):
        return PlanStep.COME_UP
    late = agent.deadline_at is not None and now >= agent.deadline_at and not is_installing(pod)
    if late or (pod and pod.phase == Phase.FAILED):
        return PlanStep.FAIL
    if pod is None:
        return PlanStep.WAIT if is_backing_off(agent, now) else PlanStep.DEPLOY
    if pod.strayed and pod.phase != Phase.STOPPED and now - agent.status_since >= NEW:
        return PlanStep.REPAIR
    if needs_repair(pod):
        return PlanStep.DEPLOY
    return PlanStep.CONFIGURE if is_behind(agent, pod) else PlanStep.WAIT


def _keep_running(agent: Agent, pod: Observation | None, now: datetime) -> PlanStep:
    lost_for_long = agent.lost_since is not None and now - agent.lost_since >= UNHEALTHY_LIMIT
    if has_lost_data(pod):
        return PlanStep.FAIL  # another pod would find the same data
    if pod is None or pod.phase == Phase.STOPPED or (lost_for_long and not is_healthy(pod)):
        return PlanStep.FAIL if is_worn_out(agent, now) else PlanStep.RECOVER
    if pod.strayed:
        return PlanStep.REPAIR
    if is_behind(agent, pod) and pod.gateway_alive:
        return PlanStep.CONFIGURE
    if needs_repair(pod):
        return PlanStep.DEPLOY
    return PlanStep.REST if is_healthy(pod) else PlanStep.WAIT


def _after_failure(agent: Agent, pod: Observation | None) -> PlanStep:
    """A failed pod that still exists may come up by itself. If the pod is gone, the owner must ask for a rebuild."""
    if pod is None or pod.phase == Phase.STOPPED:
        return PlanStep.REST
    if is_healthy(pod):
        return PlanStep.COME_UP
    if runs_astray(pod):
        return PlanStep.REPAIR
    return PlanStep.CONFIGURE if is_behind(agent, pod) and pod.gateway_alive else PlanStep.REST


def is_backing_off(agent: Agent, now: datetime) -> bool:
    """Whether a recovery still waits. The first one starts at once, the next ones 5, 15, 35 and 75 s after the loss."""
    if agent.operation != Reason.RECOVERY:
        return False
    times = int(2 ** max(0, agent.recoveries - 1)) - 1
    return now < agent.status_since + RECOVERY_BACKOFF * times


def is_worn_out(agent: Agent, now: datetime) -> bool:
    """Whether the pod was lost too many times in a row. Then only the owner can start it again."""
    return agent.recoveries >= MAX_RECOVERIES and now - agent.status_since < FORGIVEN_AFTER


def is_healthy(pod: Observation | None) -> bool:
    """Whether the engine is ready and can be reached. A ready engine behind a dead gateway helps nobody."""
    return pod is not None and pod.phase == Phase.READY and pod.gateway_alive


def is_as_wanted(pod: Observation) -> bool:
    """Whether a running agent's pod needs nothing."""
    return is_healthy(pod) and not pod.strayed


def runs_astray(pod: Observation) -> bool:
    """Whether a pod exists and its objects in the cluster differ from what the driver made, whatever its programs do.
    Its network policies may be gone, its volume may be lost with its claim, or it waits for a Secret that somebody
    removed."""
    return pod.strayed and pod.phase != Phase.STOPPED


def has_lost_data(pod: Observation | None) -> bool:
    """Whether the pod found an empty or damaged disk where its agent had data."""
    return pod is not None and pod.phase == Phase.FAILED and pod.cause in UNUSABLE_DATA


def is_installing(pod: Observation | None) -> bool:
    """Whether the engine is being installed. That time does not count against the provisioning deadline."""
    return pod is not None and pod.phase == Phase.INSTALLING


def is_behind(agent: Agent, pod: Observation) -> bool:
    """Whether the pod runs an older revision of the configuration than the row has."""
    return pod.revision is not None and pod.revision < agent.spec_revision


def needs_repair(pod: Observation) -> bool:
    """Whether one of our two programs may be missing. `deploy` starts the missing one and does not touch the other."""
    return not pod.gateway_alive or pod.phase in {Phase.UNHEALTHY, Phase.STOPPED}
