"""Causes that `explain` finds without looking at the pod: payment, model key, silent channels, domain, backups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from agents.backups import health
from agents.cause import Cause
from agents.configuring import channels
from agents.domains import names
from agents.domains.models import ClaimStatus, DomainClaim
from agents.errors import renew_url
from agents.models import AccountSpending, Agent, ChannelState, Reason, Spending
from agents.runtimes.base import Observation, Phase
from agents.spending import telling
from agents.spending.telling import LimitState

ACCOUNT_LIMITS = "PUT /me/limits"


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


def explained(
    agent: Agent,
    cause: str,
    message: str,
    *,
    next: str | None = None,
    since: datetime | None = None,
    evidence: Sequence[str] = (),
) -> Explanation:
    """A cause of the agent's present status. Without `since` it holds since that status began."""
    at = since or agent.status_since
    return Explanation(status=agent.status, cause=cause, message=message, since=at, evidence=list(evidence), next=next)


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
    message = "its free or paid time has ended: it starts again once it is paid for"
    return [explained(agent, Cause.UNPAID, message, since=agent.entitled_until, next=renew_url(agent.id))]


def keyless(agent: Agent) -> list[Explanation]:
    if agent.llm_key_hash is not None:
        return []
    message = "the agent answers but says nothing: it has no model key"
    return [explained(agent, Cause.NO_MODEL_KEY, message, next=f"PATCH /agents/{agent.id}/llm-key")]


def spending(agent: Agent) -> list[Explanation]:
    """A limit of the owner's refuses the agent's model calls."""
    now = timezone.now()
    own: Spending | None = getattr(agent, "spending", None)
    account = AccountSpending.objects.filter(pk=agent.user_id).first()
    return [
        *(_refused(agent, own, telling.states_of(agent, own, now=now)) if own else ()),
        *(_refused(agent, account, telling.states_of_account(agent.user_id, account, now=now)) if account else ()),
    ]


def _refused(agent: Agent, limits: Spending | AccountSpending, states: list[LimitState]) -> Iterator[Explanation]:
    """Why these limits, the agent's or its account's, refuse the agent's model calls, if they do."""
    is_own = isinstance(limits, Spending)
    call = f"PUT /agents/{agent.id}/limits" if is_own else ACCOUNT_LIMITS
    if limits.is_stopped:
        calls = "its model calls" if is_own else "the model calls of all their agents"
        message = f"the agent runs, but its owner has switched {calls} off"
        yield explained(agent, Cause.CALLS_STOPPED, message, next=call)
        return
    for state in states:
        if state.is_reached:
            whose = "has reached its limit" if is_own else "all agents of its account have reached their limit"
            message = (
                f"the agent runs, but {whose} of {state.limit} USD for a {state.period}: its model calls"
                f" are refused until {state.ends_at:%Y-%m-%d %H:%M} UTC"
            )
            evidence = [f"{state.usd:.4f} USD since {state.begins} UTC"]
            yield explained(agent, Cause.SPENDING_LIMIT, message, evidence=evidence, next=call)
            return


def silent(agent: Agent) -> list[Explanation]:
    """Channels on which the agent hears nobody. What was noted for an older configuration does not count."""
    told = ChannelState.objects.filter(agent=agent, told_at__isnull=False, revision=agent.spec_revision)
    return [_silent(agent, state) for state in told.order_by("channel") if state.channel in agent.channels]


def _silent(agent: Agent, state: ChannelState) -> Explanation:
    secrets = ", ".join(f"channelSecrets.{name}" for name in channels.SECRETS.get(state.channel, ()))
    call = f"PUT /agents/{agent.id}/channels"
    message = (
        f"the agent runs, but gets no messages on {state.channel}: {state.reason}; if the service refuses its"
        f" secrets, {call} sets new ones ({secrets})"
    )
    evidence = [f"{state.channel}: {state.reason}"]
    return explained(agent, Cause.CHANNEL_SILENT, message, since=state.since, evidence=evidence, next=call)


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
    message = f"{held.domain} is not proved to be yours: {serves}, and the claim lapses without proof"
    record = f"TXT {names.PROOF_PREFIX}{held.domain} must have the value {held.value}{until}"
    call = f"PUT /agents/{agent.id}/domain"
    return explained(agent, Cause.DOMAIN_UNPROVED, message, since=held.claimed_at, evidence=[record], next=call)


def _elsewhere(agent: Agent, held: DomainClaim) -> Explanation:
    message = f"{held.domain} is yours, but its DNS address does not point here"
    since, call = held.proved_at or held.claimed_at, f"GET /domain-check?domain={held.domain}"
    evidence = [f"last checked at {held.looked_at:%Y-%m-%d %H:%M:%S} UTC"]
    return explained(agent, Cause.DOMAIN_ELSEWHERE, message, since=since, evidence=evidence, next=call)


def not_backed_up(agent: Agent) -> list[Explanation]:
    repository = health.failing(agent)
    if repository is None:
        return []
    message = f"its last backup failed ({repository.failure}); it is tried again automatically"
    call = f"POST /agents/{agent.id}/backups"
    return [explained(agent, Cause.BACKUP_FAILED, message, since=repository.failed_at, next=call)]
