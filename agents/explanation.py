"""Why an agent is as it is, with evidence and the next call to make (design: API, explain)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from agents.errors import renew_url
from agents.models import Agent, Desired, Reason, Status
from agents.runtimes import current_runtime
from agents.runtimes.base import Observation, Phase
from config import waiting

STOP_MESSAGES = {
    Reason.OWNER: "paused by its owner",
    Reason.TRIAL: "its free time has ended",
    Reason.PAYMENT: "its paid term has ended",
    Reason.QUOTA: "it used more memory or disk than its tier has",
    Reason.SUSPENDED: "its account is suspended",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    status: str
    cause: str
    message: str
    since: datetime
    evidence: list[str] = field(default_factory=list)
    next: str | None = None


def of(agent: Agent) -> Explanation:
    """The cause of the agent's state: from its row, and from the pod while it should run."""
    match Status(agent.status):
        case Status.STOPPED:
            return _stopped(agent)
        case Status.FAILED:
            return _failed(agent)
        case _:
            waiting.release_connection()
            pod = current_runtime().observe().get(agent.namespace)
            return _provisioning(agent, pod) if agent.status == Status.PROVISIONING else _running(agent, pod)


def _stopped(agent: Agent) -> Explanation:
    why = STOP_MESSAGES.get(Reason(agent.operation), "stopped")
    return Explanation(
        status=agent.status,
        cause=agent.operation.upper(),
        message=f"the pod is stopped: {why}; its data is kept",
        since=agent.status_since,
        next=_start(agent, "resume"),
    )


def _failed(agent: Agent) -> Explanation:
    return Explanation(
        status=agent.status,
        cause=agent.cause or "BOOT_TIMEOUT",
        message=agent.cause_message or "the pod did not come up",
        since=agent.status_since,
        evidence=agent.cause_evidence,
        next=_start(agent, "rebuild"),
    )


def _provisioning(agent: Agent, pod: Observation | None) -> Explanation:
    installing = pod is not None and pod.phase == Phase.INSTALLING
    message = "the engine is being installed on this machine" if installing else "the pod is being started"
    cause = (pod.cause if pod else None) or agent.cause or ("INSTALLING" if installing else "STARTING")
    return Explanation(
        status=agent.status,
        cause=cause,
        message=(pod.message if pod else None) or agent.cause_message or message,
        since=agent.status_since,
        evidence=pod.evidence if pod else [],
        next=f"GET /agents/{agent.id}",
    )


def _running(agent: Agent, pod: Observation | None) -> Explanation:
    if agent.desired == Desired.STOPPED:
        return Explanation(
            status=agent.status,
            cause="STOPPING",
            message="the pod is being stopped",
            since=agent.status_since,
            next=f"GET /agents/{agent.id}",
        )
    if pod is None or pod.phase != Phase.READY or not pod.gateway_alive:
        return _unwell(agent, pod)
    if agent.llm_key_hash is None:
        return Explanation(
            status=agent.status,
            cause="NO_MODEL_KEY",
            message="the agent answers but says nothing: it has no model key",
            since=agent.status_since,
            next=_call("PATCH", agent, "llm-key"),
        )
    return Explanation(
        status=agent.status, cause="OK", message="the agent runs and has a model key", since=agent.status_since
    )


def _unwell(agent: Agent, pod: Observation | None) -> Explanation:
    """Running, but the engine or a program of the pod is not; it is being brought back."""
    if pod is None:
        cause, message = "POD_LOST", "the pod is gone and is being built again"
    elif not pod.gateway_alive:
        cause, message = "GATEWAY_DOWN", "the pod's gateway is being started again"
    else:
        cause, message = (
            pod.cause or "ENGINE_DOWN",
            pod.message or "the engine does not answer and is being started again",
        )
    return Explanation(
        status=agent.status,
        cause=cause,
        message=message,
        since=(pod.since if pod else None) or agent.lost_since or agent.status_since,
        evidence=pod.evidence if pod else [],
        next=f"GET /agents/{agent.id}/liveness",
    )


def _start(agent: Agent, verb: str) -> str:
    """The call that brings the pod back, or where to pay for an agent that may not run: there the call is a 409."""
    return _call("POST", agent, verb) if agent.is_entitled(timezone.now()) else renew_url(agent.id)


def _call(method: str, agent: Agent, verb: str) -> str:
    return f"{method} /agents/{agent.id}/{verb}"
