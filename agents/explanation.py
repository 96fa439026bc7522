"""Why an agent is as it is, with evidence and the next call to make (design: API, explain)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from agents import quota
from agents.errors import renew_url
from agents.models import Agent, AgentQuota, Desired, QuotaStatus, Reason, Status
from agents.runtimes import current_runtime
from agents.runtimes.base import Observation, Phase
from catalog import tiers
from catalog.vocabulary import TierId
from config import waiting

STOP_MESSAGES = {
    Reason.OWNER: "paused by its owner",
    Reason.TRIAL: "its free time has ended",
    Reason.PAYMENT: "its paid term has ended",
    Reason.QUOTA: "for an hour it took 95 % or more of the memory or disk of its tier; resumed it has a fresh hour",
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
        evidence=_measured(agent) if agent.operation == Reason.QUOTA else [],
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
    if grace := _quota_in(agent, QuotaStatus.GRACE):
        return _over_quota(agent, grace)
    if agent.llm_key_hash is None:
        return Explanation(
            status=agent.status,
            cause="NO_MODEL_KEY",
            message="the agent answers but says nothing: it has no model key",
            since=agent.status_since,
            next=_call("PATCH", agent, "llm-key"),
        )
    if warned := _quota_in(agent, QuotaStatus.WARN):
        return _over_quota(agent, warned)
    return Explanation(
        status=agent.status, cause="OK", message="the agent runs and has a model key", since=agent.status_since
    )


def _over_quota(agent: Agent, snapshot: AgentQuota) -> Explanation:
    """In grace, where time runs out, or near it."""
    ends_at = quota.ends_at(snapshot)
    until = f"; it is stopped at {ends_at:%H:%M} UTC unless it takes less" if ends_at else ""
    return Explanation(
        status=agent.status,
        cause="QUOTA_GRACE" if ends_at else "QUOTA_WARN",
        message=f"the memory or disk of the tier {agent.tier} is nearly or fully used up{until}",
        since=snapshot.since,
        evidence=quota.measured(snapshot),
        next=_larger(agent),
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


def _larger(agent: Agent) -> str:
    """The call that gives it a larger tier, where there is one that it may have unpaid; else where to look again."""
    mine, highest = tiers.tier_of(agent.tier), TierId.values.index(settings.MAX_TRIAL_TIER)
    larger = [tier for tier in tiers.offered() if quota.is_larger(tier, than=mine) and tier.rank <= highest]
    return f"PATCH /agents/{agent.id}" if larger and not agent.paid else _call("GET", agent, "quota")


def _quota_in(agent: Agent, status: QuotaStatus) -> AgentQuota | None:
    snapshot: AgentQuota | None = getattr(agent, "quota_snapshot", None)
    return snapshot if snapshot and snapshot.status == status else None


def _measured(agent: Agent) -> list[str]:
    snapshot: AgentQuota | None = getattr(agent, "quota_snapshot", None)
    return quota.measured(snapshot) if snapshot else []


def _start(agent: Agent, verb: str) -> str:
    """The call that brings the pod back, or where to pay for an agent that may not run: there the call is a 409."""
    return _call("POST", agent, verb) if agent.is_entitled(timezone.now()) else renew_url(agent.id)


def _call(method: str, agent: Agent, verb: str) -> str:
    return f"{method} /agents/{agent.id}/{verb}"
