"""Why an agent is in its state, with evidence and the next call to make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from agents.cause import UNUSABLE_DATA, Cause
from agents.configuring import llm_key
from agents.errors import renew_url
from agents.models import Agent, AgentQuota, Desired, QuotaStatus, Reason, Status
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from agents.runtimes.base import Observation, Phase
from agents.runtimes.management import GatewayHealth, ModelRefusal
from agents.watching import causes, liveness, quota
from agents.watching.causes import Explanation, explained
from catalog import tiers
from catalog.vocabulary import TierId
from config import waiting
from config.operator_settings import operator_settings

STOP_MESSAGES = {
    Reason.OWNER: "paused by its owner",
    Reason.OPERATOR: "paused by the operator of this service, not by its owner",
    Reason.TRIAL: "its free time has ended",
    Reason.PAYMENT: "its paid term has ended",
    Reason.QUOTA: "for an hour it used 95 % or more of the memory or disk of its tier; a resume gives a new hour",
    Reason.SUSPENDED: "its account is suspended",
}


GATEWAY_SECONDS = 3.0
FIGURES_COME_WITHIN = timedelta(minutes=1)
NEAR_THE_LIMIT = (QuotaStatus.GRACE, QuotaStatus.WARN)
# Causes that do not go away by waiting.
LASTING = UNUSABLE_DATA | {
    *(Cause.INSTALL, Cause.CRASH_LOOP, Cause.PORT, Cause.DISK_FULL, Cause.OOM, Cause.CONFIG, Cause.STUCK)
}
# Cause and helpful call by the provider's HTTP status (None: no answer at all).
MODEL_CAUSES: dict[int | None, tuple[Cause, str]] = {
    None: (Cause.MODEL_UNREACHABLE, "talk-test"),
    400: (Cause.MODEL_REFUSED, "llm-key"),
    401: (Cause.MODEL_KEY_REFUSED, "llm-key"),
    402: (Cause.MODEL_LIMIT, "llm-key"),
    403: (Cause.MODEL_KEY_REFUSED, "llm-key"),
    404: (Cause.MODEL_REFUSED, "llm-key"),
    429: (Cause.MODEL_LIMIT, "talk-test"),
}


def of(agent: Agent) -> Explanation:
    """The most urgent cause of the agent's state. `others` has the other causes, the most urgent first.

    Reads the agent's row and, while the pod should run, the pod.
    """
    first, *others = _found(agent)
    return replace(first, others=others)


def _found(agent: Agent) -> list[Explanation]:
    """All causes, the most urgent first; at least one."""
    match Status(agent.status):
        case Status.STOPPED:
            return [_stopped(agent), *causes.unpaid(agent)]
        case Status.FAILED:
            return [_failed(agent), *causes.unpaid(agent), *_quota_causes(agent, *NEAR_THE_LIMIT)]
        case _:
            with waiting.looks.take(agent.user_id):
                return _looked_at(agent)


def _looked_at(agent: Agent) -> list[Explanation]:
    """The causes of an agent that should run, found by looking at its pod. Raises Unavailable when too many calls
    wait."""
    pod = current_runtime().observe(agent.suffix).get(agent.namespace)
    if agent.status == Status.PROVISIONING:
        return [_provisioning(agent, pod)]
    if agent.desired == Desired.STOPPED:
        return [explained(agent, Cause.STOPPING, "the pod is being stopped", next=f"GET /agents/{agent.id}")]
    return _running(agent, pod) or [explained(agent, Cause.OK, "the agent runs and has a model key")]


def _stopped(agent: Agent) -> Explanation:
    why = STOP_MESSAGES.get(Reason(agent.operation), "stopped")
    if agent.cause in UNUSABLE_DATA:  # the agent had failed before it was stopped, and was not started since
        return replace(_failed(agent), message=f"the pod is stopped: {why}; {agent.cause_message}")
    message = f"the pod is stopped: {why}; its data is kept{_whom_to_ask(agent)}"
    evidence = _measured(agent) if agent.operation == Reason.QUOTA else []
    return explained(agent, agent.operation.upper(), message, evidence=evidence, next=_start(agent, "resume"))


def _whom_to_ask(agent: Agent) -> str:
    """Where to ask why the agent was stopped; "" unless an operator stopped it. Only the operator knows the reason."""
    by_people = agent.operation in {Reason.OPERATOR, Reason.SUSPENDED}
    return f"; write to {operator_settings.SUPPORT_EMAIL} to ask why" if by_people else ""


def _failed(agent: Agent) -> Explanation:
    cause, message = agent.cause or Cause.BOOT_TIMEOUT, agent.cause_message or "the pod did not come up"
    evidence = agent.cause_evidence or [agent.cause_message or "the programs of the pod wrote no message"]
    return explained(agent, cause, message, evidence=evidence, next=_start(agent, "rebuild"))


def _provisioning(agent: Agent, pod: Observation | None) -> Explanation:
    usual, words = Cause.STARTING, "the pod is being started"
    if pod is not None and pod.phase == Phase.INSTALLING:
        usual, words = Cause.INSTALLING, "the engine is being installed on this machine"
    cause, message, evidence = causes.last_known(agent, pod, otherwise=usual, words=words)
    evidence = evidence or ([agent.cause_message] if agent.cause_message else [])
    return explained(agent, cause, message, evidence=evidence, next=f"GET /agents/{agent.id}")


def _running(agent: Agent, pod: Observation | None) -> list[Explanation]:
    """The problems of an agent that should run: what silences it now, what will stop it soon, what keeps it mute."""
    answers = pod is not None and pod.phase == Phase.READY and pod.gateway_alive
    # When the cluster already knows what happened to the pod, the gateway is not asked.
    said, asked = _gateway_health(agent) if answers and not (pod and pod.cause) else (None, [])
    engine = _told_by_bridge(agent, said.engine or {}) if said else []
    if not answers:
        engine = [_unwell(agent, pod)]
    elif pod and pod.cause:
        engine = [_troubled(agent, pod, pod.cause)]
    return [
        *_quota_causes(agent, QuotaStatus.GRACE),
        *asked,
        *engine,
        *(_distrusted(agent) if answers else []),
        *causes.keyless(agent),
        *(limited := causes.spending(agent)),
        *_certain_first(
            _model_causes(agent, said, is_limited=bool(limited)),
            causes.silent(agent) if _has_engine(said) and not engine else [],
        ),
        *_quota_causes(agent, QuotaStatus.WARN),
        *causes.domain(agent),
        *causes.not_backed_up(agent),
    ]


def _quota_causes(agent: Agent, *statuses: QuotaStatus) -> list[Explanation]:
    snapshot: AgentQuota | None = getattr(agent, "quota_snapshot", None)
    return [_over_quota(agent, snapshot)] if snapshot and snapshot.status in statuses else []


def _over_quota(agent: Agent, snapshot: AgentQuota) -> Explanation:
    """The memory or disk of the tier is nearly or fully used: in grace, with the time of the stop, or with a
    warning."""
    ends_at = quota.ends_at(snapshot)
    until = f"; it is stopped at {ends_at:%H:%M} UTC unless it uses less" if ends_at else ""
    cause = Cause.QUOTA_GRACE if ends_at else Cause.QUOTA_WARN
    message = f"the memory or disk of the tier {agent.tier} is nearly or fully used up{until}"
    evidence = quota.measured(snapshot)
    return explained(agent, cause, message, since=snapshot.since, evidence=evidence, next=_larger(agent))


def _unwell(agent: Agent, pod: Observation | None) -> Explanation:
    """The agent's status is running, but the engine or a program of its pod does not run. It is being started again."""
    cause, message = _ailment(agent, pod)
    since = (pod.since if pod else None) or agent.lost_since
    evidence = (pod.evidence if pod else []) or ([message] if cause in LASTING else [])
    call = _remedy(agent, cause) or _call("GET", agent, "liveness")
    return explained(agent, cause, message, since=since, evidence=evidence, next=call)


def _ailment(agent: Agent, pod: Observation | None) -> tuple[str, str]:
    if pod is None:
        return Cause.POD_LOST, "the pod is gone and is being built again"
    if pod.gateway_alive:
        why = "the engine does not answer and is being started again"
        return pod.cause or Cause.ENGINE_DOWN, pod.message or why
    if agent.cause in LASTING:
        return agent.cause, agent.cause_message
    return pod.cause or Cause.GATEWAY_DOWN, pod.message or "the pod's gateway is being started again"


def _troubled(agent: Agent, pod: Observation, cause: str) -> Explanation:
    """The engine answers its probe, but its bridge reports a problem."""
    call = _remedy(agent, cause) or _call("POST", agent, "talk-test")
    return explained(agent, cause, pod.message or cause, since=pod.since, evidence=pod.evidence, next=call)


def _remedy(agent: Agent, cause: str) -> str | None:
    """The call that helps against a cause that does not go away by waiting; None for other causes."""
    if cause in {Cause.DISK_FULL, Cause.OOM}:
        return _larger(agent)
    return _start(agent, "rebuild") if cause in LASTING else None


def _gateway_health(agent: Agent) -> tuple[GatewayHealth | None, list[Explanation]]:
    """What only the pod's gateway knows: its health, or the cause that it does not answer."""
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        return None, []
    try:
        return management.health(endpoint, pods.access_of(agent), seconds=GATEWAY_SECONDS), []
    except HopFailure as failure:
        said, call = failure.message, _call("GET", agent, "liveness")
        return None, [explained(agent, Cause.GATEWAY_DOWN, said, since=agent.lost_since, evidence=[said], next=call)]


def _distrusted(agent: Agent) -> list[Explanation]:
    """The agent's own hostname shows a certificate that neither this service nor the authority of its cluster
    trusts."""
    endpoint = current_runtime().endpoint(agent.namespace)
    why = liveness.distrusted(endpoint) if endpoint else None
    if endpoint is None or why is None:
        return []
    message = "the agent runs, but visitors of its address get a certificate that browsers do not trust"
    evidence, call = [f"{endpoint.public_url}: {why}"], _call("GET", agent, "liveness")
    return [explained(agent, Cause.CERTIFICATE, message, evidence=evidence, next=call)]


def _model_causes(agent: Agent, health: GatewayHealth | None, *, is_limited: bool) -> list[Explanation]:
    """The provider's last answer, if that was a failure; else whether the key was ever seen to work."""
    if agent.llm_key_hash is None:
        return []
    is_current = health is not None and health.revision >= agent.spec_revision  # else it has an older key
    if health and is_current and health.model is not None:
        return _at_limit(agent, health.model, is_limited) if health.model.of_limit else [_refused(agent, health.model)]
    if health and is_current and health.model_answered:
        llm_key.prove(agent)
        return []
    if agent.llm_key_checked:
        return []
    message = (
        "the agent runs; its model key could not be checked when it was installed, because its provider was"
        " not asked or gave no clear answer, and the model has not answered yet"
    )
    return [explained(agent, Cause.KEY_UNCHECKED, message, next=_call("POST", agent, "talk-test"))]


def _has_engine(said: GatewayHealth | None) -> bool:
    """Whether the engine is ready. Without an engine no channel is connected, and that is no fault of the channels."""
    return said is not None and (said.engine or {}).get("phase") == Phase.READY


def _certain_first(model: list[Explanation], channels: list[Explanation]) -> list[Explanation]:
    """Put a certain cause first. A failing model silences all channels; an unchecked key may be good."""
    is_doubt = any(one.cause == Cause.KEY_UNCHECKED for one in model)
    return [*channels, *model] if is_doubt else [*model, *channels]


def _told_by_bridge(agent: Agent, state: Mapping[str, Any]) -> list[Explanation]:
    """What only the bridge knows, such as a full disk. Some runtimes do not ask a healthy pod, so this reads the
    gateway's answer."""
    cause, message, evidence = state.get("cause"), state.get("message"), state.get("evidence")
    if not isinstance(cause, str) or not cause:
        return []
    lines = [str(line) for line in evidence] if isinstance(evidence, list) else []
    call = _remedy(agent, cause) or _call("POST", agent, "talk-test")
    return [explained(agent, cause, str(message or cause), evidence=lines, next=call)]


def _refused(agent: Agent, last: ModelRefusal) -> Explanation:
    cause, verb = MODEL_CAUSES.get(last.status, (Cause.MODEL_FAILING, "talk-test"))
    message = f"the agent runs, but its model does not answer: {last.message}"
    evidence = [f"{last.at:%Y-%m-%d %H:%M:%S} UTC: {last.message}"]
    call = _call("PATCH" if verb == "llm-key" else "POST", agent, verb)
    return explained(agent, cause, message, since=last.at, evidence=evidence, next=call)


def _at_limit(agent: Agent, last: ModelRefusal, is_limited: bool) -> list[Explanation]:
    """A limit of the owner's refused the last call. The figures tell it themselves (`is_limited`), but come later."""
    if is_limited or timezone.now() - last.at > FIGURES_COME_WITHIN:
        return []
    message = f"the agent runs, but a limit of its owner's refuses its model calls: {last.message}"
    call = _call("PUT", agent, "limits")
    return [explained(agent, Cause.SPENDING_LIMIT, message, since=last.at, evidence=[last.message], next=call)]


def _larger(agent: Agent) -> str:
    """The call that gives the agent a larger tier, if an unpaid agent may have one; else the call that shows its
    quota."""
    mine, highest = tiers.tier_of(agent.tier), TierId.values.index(operator_settings.MAX_TRIAL_TIER)
    larger = [tier for tier in tiers.offered() if quota.is_larger(tier, than=mine) and tier.rank <= highest]
    return f"PATCH /agents/{agent.id}" if larger and not agent.paid else _call("GET", agent, "quota")


def _measured(agent: Agent) -> list[str]:
    snapshot: AgentQuota | None = getattr(agent, "quota_snapshot", None)
    return quota.measured(snapshot) if snapshot else []


def _start(agent: Agent, verb: str) -> str:
    """The call that brings the pod back. For an agent that may not run that call answers 409, so this is its payment
    page."""
    return _call("POST", agent, verb) if agent.is_entitled(timezone.now()) else renew_url(agent.id)


def _call(method: str, agent: Agent, verb: str) -> str:
    return f"{method} /agents/{agent.id}/{verb}"
