"""An operator's restart of an agent's engine: a new process in the same pod, with the same disk."""

from __future__ import annotations

from datetime import datetime

from agents import timeline
from agents.errors import WrongState
from agents.models import Agent, Desired, Reason, Status
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from config import waiting
from config.errors import Conflict


class NotRestarted(Conflict):
    """The pod did not take the order."""


def restart(agent: Agent, *, actor: str, why: str, now: datetime) -> None:
    """Start the engine again. Turns that run fail; conversations and data stay. Raises WrongState, NotRestarted."""
    if agent.status != Status.RUNNING or agent.desired != Desired.RUNNING:
        raise WrongState("a restart of the engine", agent.status, "it must run")
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        raise NotRestarted("the pod has no address: wait, or rebuild it")
    with waiting.looks.take(agent.user_id):
        try:
            management.restart_engine(endpoint, pods.access_of(agent))
        except HopFailure as failure:
            raise NotRestarted(failure.message) from failure
    timeline.note(agent, f"engine restarted: {why}", reason=Reason.OPERATOR, actor=actor, now=now)
