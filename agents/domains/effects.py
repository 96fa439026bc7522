"""What a change of a claim means for its agent: where its name leads, its timeline, its events and its owner's mails.

The caller has locked the agent's row.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from accounts import mail_choices
from agents.configuring import configuration
from agents.domains.models import ClaimStatus, DomainClaim
from agents.errors import NeedsDomain
from agents.models import Agent, Desired, Status
from catalog.engines import engine_of
from config import outgoing_mail
from webhooks import events
from webhooks.event_types import EventType

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def next_look(held: DomainClaim, *, now: datetime) -> datetime:
    """When DNS is asked again: often while the owner sets records, less often afterwards, and at the latest when the
    claim would lapse."""
    age = now - held.claimed_at
    if held.status == ClaimStatus.PROVED and held.points_since is not None:
        return now + 6 * HOUR
    wait = MINUTE if age < HOUR else 10 * MINUTE if age < DAY else HOUR
    later = now + wait
    return min(later, held.lapses_at) if held.lapses_at and held.lapses_at > now else later


def lead(held: DomainClaim, agent: Agent, *, now: datetime) -> None:
    """Make the pod's routes follow the claim: they exist from the time when the name may serve and its address leads
    here.

    A proved name keeps its routes while its address leads elsewhere for a time, so that it needs no new certificates.
    """
    proved = held.status == ClaimStatus.PROVED
    leads = held.serves(now) and (held.points_since is not None or (proved and agent.domain_ready_at is not None))
    if leads == (agent.domain_ready_at is not None):
        return
    agent.domain_ready_at = now if leads else None
    held.unroute_at = None if leads else now
    configuration.save(agent, fields=["domain_ready_at"])


def without_domain(agent: Agent, *, now: datetime) -> None:
    """Take the name from the agent. An agent that is to be deleted needs no new revision."""
    was_led_to = agent.domain_ready_at is not None
    agent.domain = agent.domain_ready_at = None
    if was_led_to and agent.desired != Desired.DELETED:
        configuration.save(agent, fields=["domain", "domain_ready_at"])
    else:
        agent.save(update_fields=["domain", "domain_ready_at"])


def refuse_needed(agent: Agent) -> None:
    """Raise NeedsDomain when the engine does not work without a customer's hostname."""
    engine = engine_of(agent.engine)
    if engine.requires_domain:
        raise NeedsDomain(engine.label)


def emit_lost(held: DomainClaim, agent: Agent, *, now: datetime) -> None:
    """There is no event type for names. So the loss is sent as `agent.running`, and only for a running agent."""
    if agent.status == Status.RUNNING:
        data = {"from": agent.status, "to": agent.status, "reason": "domain-lost", "domain": held.domain}
        events.emit(agent, EventType.AGENT_RUNNING, data, now=now)


def mail(name: str, held: DomainClaim, agent: Agent) -> None:
    content = outgoing_mail.rendered(
        name,
        lang=mail_choices.language(agent.user, otherwise=agent.lang),
        name=agent.name,
        domain=held.domain,
        value=held.value,
        agent_id=agent.pk,
    )
    outgoing_mail.write(agent.user_id, content)
