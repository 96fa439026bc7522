"""Causes that `explain` finds without looking at the pod: payment, model key, silent channels, domain, backups."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from agents.backups import health
from agents.cause import Cause
from agents.configuring import channels
from agents.domains import names
from agents.domains.models import ClaimStatus, DomainClaim
from agents.errors import renew_url
from agents.models import Agent, ChannelState, Reason
from agents.runtimes.base import Observation, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    status: str
    cause: str
    message: str
    since: datetime
    evidence: list[str] = field(default_factory=list)
    next: str | None = None
    others: list[Explanation] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """The evidence, then a line for each other cause."""
        return [*self.evidence, *(f"also {one.cause}: {one.message}; next: {one.next}" for one in self.others)]


def last_known(agent: Agent, pod: Observation | None, *, otherwise: Cause, words: str) -> tuple[str, str, list[str]]:
    """Cause, message and evidence of a pod that is not ready: what it says, else what its runtime refused, else these.

    A refusal is newer than what a pod says that has stopped.
    """
    told = None if agent.cause and (pod is None or pod.phase == Phase.STOPPED) else pod
    if told is None:
        return agent.cause or otherwise, agent.cause_message or words, []
    return told.cause or agent.cause or otherwise, told.message or agent.cause_message or words, told.evidence


def unpaid(agent: Agent) -> list[Explanation]:
    """The agent is unpaid, so it cannot start. This is shown in addition to another cause.

    Empty when the agent was stopped because it is unpaid: then the main cause says that already.
    """
    if agent.is_entitled(timezone.now()) or agent.operation in {Reason.TRIAL, Reason.PAYMENT}:
        return []
    return [
        Explanation(
            status=agent.status,
            cause=Cause.UNPAID,
            message="its free or paid time has ended: it starts again once it is paid for",
            since=agent.entitled_until or agent.status_since,
            next=renew_url(agent.id),
        )
    ]


def keyless(agent: Agent) -> list[Explanation]:
    if agent.llm_key_hash is not None:
        return []
    return [
        Explanation(
            status=agent.status,
            cause=Cause.NO_MODEL_KEY,
            message="the agent answers but says nothing: it has no model key",
            since=agent.status_since,
            next=f"PATCH /agents/{agent.id}/llm-key",
        )
    ]


def silent(agent: Agent) -> list[Explanation]:
    """Channels on which the agent hears nobody. What was noted for an older configuration does not count."""
    told = ChannelState.objects.filter(agent=agent, told_at__isnull=False, revision=agent.spec_revision)
    return [_silent(agent, state) for state in told.order_by("channel") if state.channel in agent.channels]


def _silent(agent: Agent, state: ChannelState) -> Explanation:
    secrets = ", ".join(f"channelSecrets.{name}" for name in channels.SECRETS.get(state.channel, ()))
    call = f"PUT /agents/{agent.id}/channels"
    return Explanation(
        status=agent.status,
        cause=Cause.CHANNEL_SILENT,
        message=f"the agent runs, but gets no messages on {state.channel}: {state.reason}; if the service refuses its"
        f" secrets, {call} sets new ones ({secrets})",
        since=state.since or agent.status_since,
        evidence=[f"{state.channel}: {state.reason}"],
        next=call,
    )


def domain(agent: Agent) -> list[Explanation]:
    """The agent's own hostname does not serve, or will soon stop serving."""
    held = DomainClaim.objects.held().filter(agent=agent).first() if agent.domain else None
    if held is None:
        return []
    if held.status == ClaimStatus.UNPROVED:
        return [_unproved(agent, held)]
    if held.points_since is None and held.looked_at is not None:
        return [_elsewhere(agent, held)]
    return []


def _unproved(agent: Agent, held: DomainClaim) -> Explanation:
    serves = "it works for now" if held.serves(timezone.now()) else "it does not work yet"
    until = f"; until {held.lapses_at:%Y-%m-%d %H:%M} UTC" if held.lapses_at else ""
    return Explanation(
        status=agent.status,
        cause=Cause.DOMAIN_UNPROVED,
        message=f"{held.domain} is not proved to be yours: {serves}, and the claim lapses without proof",
        since=held.claimed_at,
        evidence=[f"TXT {names.PROOF_PREFIX}{held.domain} must have the value {held.value}{until}"],
        next=f"PUT /agents/{agent.id}/domain",
    )


def _elsewhere(agent: Agent, held: DomainClaim) -> Explanation:
    return Explanation(
        status=agent.status,
        cause=Cause.DOMAIN_ELSEWHERE,
        message=f"{held.domain} is yours, but its DNS address does not point here",
        since=held.proved_at or held.claimed_at,
        evidence=[f"last checked at {held.looked_at:%Y-%m-%d %H:%M:%S} UTC"],
        next=f"GET /domain-check?domain={held.domain}",
    )


def not_backed_up(agent: Agent) -> list[Explanation]:
    repository = health.failing(agent)
    if repository is None:
        return []
    return [
        Explanation(
            status=agent.status,
            cause=Cause.BACKUP_FAILED,
            message=f"its last backup failed ({repository.failure}); it is tried again automatically",
            since=repository.failed_at or agent.status_since,
            next=f"POST /agents/{agent.id}/backups",
        )
    ]
