"""STATE MACHINE of a claim to a hostname: which agent holds the name, since when it is proved, and how the claim ends.

To change a claim that is not over, the row of its agent must be locked; several agents are locked in the order of their
ids. So a takeover, a release and a deletion happen one after the other, and a name always has one holder at most (the
unique constraint `domain_held_once`).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import User
from agents import timeline
from agents.domains import effects, names
from agents.domains.models import ClaimStatus, DomainClaim
from agents.domains.records import DnsAnswers
from agents.errors import DomainTaken, NoSuchAgent, TooManyDomains, YourOtherAgent
from agents.models import Agent, Desired, Reason
from config import background, states
from config.operator_settings import operator_settings

UNPROVED_FOR = timedelta(days=7)
RESERVED_FOR = timedelta(days=30)
UNANSWERED_FOR = timedelta(days=1)  # how long a claim may outlive its time while DNS does not answer
TRIES = 4  # another agent may get the name between our look at it and our locks

TRANSITIONS: dict[ClaimStatus, set[ClaimStatus]] = {
    ClaimStatus.UNPROVED: {ClaimStatus.PROVED, ClaimStatus.LAPSED, ClaimStatus.RELEASED, ClaimStatus.LOST},
    ClaimStatus.PROVED: {ClaimStatus.RELEASED, ClaimStatus.LOST},
    ClaimStatus.LAPSED: set(),
    ClaimStatus.RELEASED: set(),
    ClaimStatus.LOST: set(),
}


class _OtherHolder(Exception):
    """The name got another holder while we waited for the locks."""


def value_of(user_id: str) -> str:
    """The text that the TXT record must have for this account. It stays the same while the account has claims, even if
    our keys change. It is public, and only proves something where the owner of a name has put it."""
    known = DomainClaim.objects.filter(user_id=user_id).order_by("claimed_at").values_list("value", flat=True).first()
    return known or f"agentpods-{salted_hmac('agents.domains', user_id, algorithm='sha256').hexdigest()[:40]}"


def refuse(user: User, domain: str, *, seen: DnsAnswers, now: datetime) -> None:
    """Raise what `claim` would raise now: BadRequest, DomainTaken, TooManyDomains."""
    names.refuse_unprovable(domain)
    _refuse_hoarding(user.pk, domain, now=now)
    holder = DomainClaim.objects.held().filter(domain=domain).first()
    _refuse_taken(user.pk, domain, holder, seen=seen, now=now)


def claim(agent: Agent, domain: str, *, seen: DnsAnswers, actor: str) -> DomainClaim:
    """Let the agent hold this name. `seen` is what DNS said of it a moment ago. A name that the agent held before is
    released.

    A name of another account is taken over if the TXT record has this account's value. Claiming the name that the agent
    already holds only applies what DNS said. Raises DomainTaken, YourOtherAgent, TooManyDomains, NoSuchAgent.
    """
    names.refuse_unprovable(domain)
    for _ in range(TRIES):
        try:
            with suppress(_OtherHolder), transaction.atomic():
                return _claim(agent, domain, seen=seen, actor=actor, now=timezone.now())
        except IntegrityError as error:
            if "domain_held_once" not in str(error) and "agent_domain_once" not in str(error):
                raise
            raise DomainTaken(domain, value=value_of(agent.user_id)) from error
    raise DomainTaken(domain, value=value_of(agent.user_id))


@transaction.atomic
def release(agent: Agent, *, actor: str) -> Agent:
    """Release the agent's name, if it has one. The name stays reserved for its account for 30 days. Raises
    NoSuchAgent."""
    agent = _locked([agent.pk])[agent.pk]
    effects.refuse_needed(agent)
    return let_go(agent, actor=actor, now=timezone.now())


def let_go(agent: Agent, *, actor: str, now: datetime) -> Agent:
    """Release the name of an agent whose row the caller has locked."""
    if held := _held_by(agent):
        _release(held, now=now)
        timeline.note(agent, f"domain: {held.domain} was released", reason=Reason.DOMAIN, actor=actor, now=now)
        effects.without_domain(agent, now=now)
    return agent


@transaction.atomic
def observe(claim_id: str, seen: DnsAnswers, *, now: datetime) -> None:
    """Record what DNS says of a claim: its proof, its address, or that the claim's time is over."""
    agent_id = DomainClaim.objects.held().filter(pk=claim_id).values_list("agent_id", flat=True).first()
    if agent_id is None:
        return
    with suppress(NoSuchAgent):
        agent = _locked([agent_id])[agent_id]
        held = DomainClaim.objects.held().filter(pk=claim_id).first()
        if held is not None:
            _apply(held, agent, seen=seen, now=now)
            if _has_lapsed(held, seen=seen, now=now):
                _lapse(held, agent, now=now)


# The steps of one transaction of `claim`.


def _claim(agent: Agent, domain: str, *, seen: DnsAnswers, actor: str, now: datetime) -> DomainClaim:
    rival = _rival(agent, domain)
    agents = _locked([agent.pk, *([rival.agent_id] if rival else [])])
    rival = _rival(agent, domain)
    if rival is not None and rival.agent_id not in agents:
        raise _OtherHolder
    agent = agents[agent.pk]
    mine = _held_by(agent)
    if mine is not None and mine.domain == domain:
        _apply(mine, agent, seen=seen, now=now)
        return mine
    _refuse_hoarding(agent.user_id, domain, now=now)
    _refuse_taken(agent.user_id, domain, rival, seen=seen, now=now)
    if rival is not None:
        _lose(rival, agents[rival.agent_id], now=now)
    if mine is not None:
        _release(mine, now=now)
        effects.without_domain(agent, now=now)
    return _begin(agent, domain, seen=seen, actor=actor, now=now)


def _begin(agent: Agent, domain: str, *, seen: DnsAnswers, actor: str, now: datetime) -> DomainClaim:
    past = DomainClaim.objects.filter(domain=domain)
    own = past.filter(user_id=agent.user_id)
    first = own.order_by("claimed_at").values_list("claimed_at", flat=True).first() or now
    # An account gets the days without proof only once for each name, counted from its first claim of the name.
    by_address = now < first + UNPROVED_FOR and not past.exclude(user_id=agent.user_id).exists()
    still_its = own.reserved(now).filter(proved_at__isnull=False).order_by("-ended_at").first()
    new = DomainClaim(
        domain=domain,
        user_id=agent.user_id,
        agent=agent,
        value=value_of(agent.user_id),
        by_address=by_address,
        claimed_at=now,
        lapses_at=(first if by_address else now) + UNPROVED_FOR,
    )
    if still_its is not None:
        _move(new, ClaimStatus.PROVED)
        new.proved_at, new.lapses_at = still_its.proved_at, None
    new.save(force_insert=True)
    agent.domain = domain
    agent.save(update_fields=["domain"])
    timeline.note(agent, f"domain: {domain} was claimed", reason=Reason.DOMAIN, actor=actor, now=now)
    _apply(new, agent, seen=seen, now=now)
    return new


def _refuse_hoarding(user_id: str, domain: str, *, now: datetime) -> None:
    held_back = DomainClaim.objects.reserved(now).filter(user_id=user_id)
    names_held = held_back.exclude(domain=domain).values("domain").distinct().count()
    if names_held >= operator_settings.MAX_RELEASED_DOMAINS and not held_back.filter(domain=domain).exists():
        raise TooManyDomains(names_held)


def _refuse_taken(user_id: str, domain: str, holder: DomainClaim | None, *, seen: DnsAnswers, now: datetime) -> None:
    if holder is not None and holder.user_id == user_id:
        raise YourOtherAgent(domain, holder.agent_id)
    value = value_of(user_id)
    others = DomainClaim.objects.reserved(now).filter(domain=domain).exclude(user_id=user_id)
    if not seen.proves(value) and (holder is not None or others.exists()):
        raise DomainTaken(domain, value=value)


# What happens to a claim.


def _apply(held: DomainClaim, agent: Agent, *, seen: DnsAnswers, now: datetime) -> None:
    """Apply what DNS said to the claim and its agent. The caller has locked the agent's row."""
    if seen.points_here is not None:
        held.looked_at = now
        held.points_since = (held.points_since or now) if seen.points_here else None
    if held.status == ClaimStatus.UNPROVED and seen.proves(held.value):
        _move(held, ClaimStatus.PROVED)
        held.proved_at, held.lapses_at = now, None
        timeline.note(agent, f"domain: {held.domain} is proved", reason=Reason.DOMAIN, actor="domains", now=now)
    held.look_at = effects.next_look(held, now=now)
    effects.lead(held, agent, now=now)
    held.save()


def _has_lapsed(held: DomainClaim, *, seen: DnsAnswers, now: datetime) -> bool:
    if held.status != ClaimStatus.UNPROVED or held.lapses_at is None or held.lapses_at > now:
        return False
    return seen.texts is not None or held.lapses_at + UNANSWERED_FOR <= now


def _lapse(held: DomainClaim, agent: Agent, *, now: datetime) -> None:
    _end(held, ClaimStatus.LAPSED, now=now)
    words = f"domain: {held.domain} lapsed, for it was never proved"
    timeline.note(agent, words, reason=Reason.DOMAIN, actor="domains", now=now)
    effects.without_domain(agent, now=now)
    effects.mail("domain_lapsed", held, agent)


def _lose(rival: DomainClaim, agent: Agent, *, now: datetime) -> None:
    _end(rival, ClaimStatus.LOST, now=now)
    note = f"domain: {rival.domain} was taken over by the account that its TXT record names"
    timeline.note(agent, note, reason=Reason.DOMAIN, actor="domains", now=now)
    effects.without_domain(agent, now=now)
    effects.emit_lost(rival, agent, now=now)
    effects.mail("domain_lost", rival, agent)


def _release(held: DomainClaim, *, now: datetime) -> None:
    held.reserved_until = now + RESERVED_FOR
    _end(held, ClaimStatus.RELEASED, now=now)


def _end(held: DomainClaim, to: ClaimStatus, *, now: datetime) -> None:
    _move(held, to)
    held.ended_at = held.unroute_at = now
    held.look_at = held.lapses_at = None
    held.save()
    if settings.AGENT_RUNTIME == "kubernetes":
        background.on_commit("agents.unroute_domains")  # because another agent may have the name already


def _move(held: DomainClaim, to: ClaimStatus) -> None:
    """The only function that assigns a status. The caller saves the claim."""
    states.check(TRANSITIONS, ClaimStatus(held.status), to, of=held.id)
    held.status = to


# Rows.


def _rival(agent: Agent, domain: str) -> DomainClaim | None:
    return DomainClaim.objects.held().filter(domain=domain).exclude(agent_id=agent.pk).first()


def _held_by(agent: Agent) -> DomainClaim | None:
    return DomainClaim.objects.held().filter(agent_id=agent.pk).first()


def _locked(ids: list[str]) -> dict[str, Agent]:
    """The rows of these agents, locked in the order of their ids. Raises NoSuchAgent when the first one is deleted."""
    rows = Agent.objects.locked().filter(pk__in=ids).order_by("pk")
    found = {agent.pk: agent for agent in rows}
    if ids[0] not in found or found[ids[0]].desired == Desired.DELETED:
        raise NoSuchAgent
    return found
