"""What an agent's page says at its top: what is wanted, seen and paid, and what happens next."""

from __future__ import annotations

from datetime import datetime

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from agents.models import Agent, Status
from agents.running import reconciler
from agents.running.plan import PlanStep
from agents.runtimes.base import Observation, RuntimeFailure

MINUTE = "%Y-%m-%d %H:%M:%S UTC"
STEPS = {
    PlanStep.REST: "Nothing. It rests until something changes.",
    PlanStep.WAIT: "It waits after failures, and then makes the pod.",
    PlanStep.CLEAR: "It removes pods of earlier generations.",
    PlanStep.DEPLOY: "It makes the pod, or makes it complete.",
    PlanStep.CONFIGURE: "It gives the pod the changed configuration, without a restart.",
    PlanStep.REPAIR: "It puts back what somebody changed in the cluster.",
    PlanStep.COME_UP: "The pod is healthy: the agent becomes running.",
    PlanStep.FAIL: "It stops trying: the agent becomes failed.",
    PlanStep.RECOVER: "The pod is lost or unhealthy: it makes another one.",
    PlanStep.STOP: "It stops the pod.",
    PlanStep.COME_DOWN: "The pod has stopped: the agent becomes stopped.",
    PlanStep.DELETE: "It removes the pod and what belongs to it.",
}


class WithOutlook(admin.ModelAdmin[Agent]):
    @admin.display(description="now and next")
    def outlook(self, agent: Agent) -> SafeString:
        now = timezone.now()
        try:
            look = reconciler.look_at(agent)
        except RuntimeFailure as failure:
            seen, step = f"unknown: {failure}", "unknown, because the pod was not seen"
        else:
            seen, step = _seen(agent, look.pod, look.earlier), STEPS[look.step]
        lines = [
            ("Wanted", f"{agent.desired} ({agent.operation}), configuration {agent.spec_revision}"),
            ("Seen", seen),
            ("Paid", _paid(agent, now)),
            ("Status", f"{agent.status}, for {timesince(agent.status_since, now)}{_disagrees(agent)}"),
            ("Next step", f"{step} {_when(agent, now)}"),
        ]
        if agent.cause:
            lines.insert(-1, ("Why", f"{agent.cause}: {agent.cause_message or 'no more is known'}"))
        return format_html_join("", "<p><b>{}:</b> {}</p>", lines)


def _seen(agent: Agent, pod: Observation | None, earlier: list[str]) -> str:
    parts = (
        ["no pod"] if pod is None else [f"pod {pod.phase}", "gateway answers" if pod.gateway_alive else "no gateway"]
    )
    if pod and pod.revision is not None:
        parts.append(f"configuration {pod.revision}")
    if pod and pod.cause:
        parts.append(f"cause {pod.cause}")
    if earlier:
        parts.append(f"and {len(earlier)} of earlier generations")
    return ", ".join(parts)


def _paid(agent: Agent, now: datetime) -> str:
    kind = "paid" if agent.paid else "free"
    if agent.entitled_until is None:
        return f"{kind}, without an end"
    if agent.entitled_until < now:
        return f"{kind}, over since {agent.entitled_until:{MINUTE}}"
    return f"{kind} until {agent.entitled_until:{MINUTE}}"


def _disagrees(agent: Agent) -> str:
    """Marks a status that differs from what is wanted: the time before it is the age of the disagreement."""
    return "" if agent.status in {agent.desired, Status.DELETED} else f", though {agent.desired} is wanted"


def _when(agent: Agent, now: datetime) -> str:
    if agent.lease_until and agent.lease_until > now:
        return "A worker is at it now."
    if agent.reconcile_at is None:
        return "Nothing is due."
    return "Due now." if agent.reconcile_at <= now else f"Due in {timesince(now, agent.reconcile_at)}."
