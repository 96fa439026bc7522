"""Compute an agent's term from its rows, and copy the result to the agent's row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef

from accounts.models import Suspension
from agents import entitlement
from agents.models import Agent
from billing.models import CardSubscription, Lapse, Subscription
from billing.term import Facts, PaidPart, Pause, Rules, Term, runs_until, term_of, trial_end
from billing.vocabulary import SubscriptionStatus, TermMode
from config.operator_settings import operator_settings

# Whether a card renews this subscription.
BY_CARD = Exists(CardSubscription.objects.renewing().filter(agent=OuterRef("agent")))


def rules() -> Rules:
    return Rules(
        trial=timedelta(days=operator_settings.TRIAL_DAYS),
        grace=timedelta(days=operator_settings.GRACE_DAYS),
        kept=timedelta(days=operator_settings.KEPT_DAYS),
        notice_days=tuple(settings.NOTICE_DAYS),
    )


def term(agent: Agent, *, now: datetime) -> Term:
    """The agent's term from its subscriptions, suspensions and open lapse. Uses a fixed number of statements."""
    return term_of(facts(agent), rules(), now=now)


def terms(agents: Sequence[Agent], *, now: datetime) -> dict[str, Term]:
    """The terms of these agents by id, with as many statements as for one agent."""
    current = rules()
    return {agent_id: term_of(known, current, now=now) for agent_id, known in _facts(agents).items()}


def free_until(agent: Agent, *, now: datetime) -> datetime:
    """When the agent's free days end or ended."""
    return trial_end(facts(agent), rules(), now=now)


def facts(agent: Agent) -> Facts:
    return _facts([agent])[agent.pk]


def _facts(agents: Sequence[Agent]) -> dict[str, Facts]:
    ids = [agent.pk for agent in agents]
    subscriptions: dict[str, list[PaidPart]] = defaultdict(list)
    for row in Subscription.objects.filter(agent__in=ids).defer("license_key").annotate(by_card=BY_CARD):
        subscriptions[row.agent_id].append(bought(row))
    stops = dict(Lapse.objects.filter(agent__in=ids, ended_at=None).values_list("agent_id", "stopped_at"))
    paused = suspended({agent.user_id for agent in agents})
    return {
        agent.pk: Facts(
            created_at=agent.created_at,
            trial_ends_at=agent.trial_ends_at,
            bought=subscriptions[agent.pk],
            pauses=paused[agent.user_id],
            stopped_at=stops.get(agent.pk),
        )
        for agent in agents
    }


def pauses(user_id: str) -> list[Pause]:
    return suspended([user_id])[user_id]


def suspended(user_ids: Iterable[str]) -> dict[str, list[Pause]]:
    found: dict[str, list[Pause]] = defaultdict(list)
    rows = Suspension.objects.filter(user__in=user_ids).values_list("user_id", "suspended_at", "restored_at")
    for user_id, since, until in rows:
        found[user_id].append(Pause(since, until))
    return found


def bought(row: Subscription) -> PaidPart:
    """The part of the row that the term needs. If the row was read with BY_CARD, also whether it renews.

    Until when it counts as paid depends on that.
    """
    return PaidPart(
        status=SubscriptionStatus(row.status),
        provider=row.provider,
        internal=row.is_internal,
        licensed=row.is_licensed,
        ends=row.current_period_end,
        counted_at=row.counted_at,
        expired_at=row.expired_at,
        renews=bool(vars(row).get("by_card")) and not row.is_internal,
    )


def copy(agent: Agent, *, now: datetime) -> Agent:
    """Copy the term to the agent's `paid` and `entitled_until`. Returns the updated agent.

    The caller holds the agent's lock.
    """
    known = facts(agent)
    current = term_of(known, rules(), now=now)
    paid = current.mode in {TermMode.PAID, TermMode.INTERNAL}
    until = None if current.mode == TermMode.INTERNAL else current.stops_at or _runs_until(known.bought, known, now=now)
    if (agent.paid, agent.entitled_until) == (paid, until):
        return agent
    return entitlement.grant(agent, until=until) if paid else _withdrawn(agent, until)


def _runs_until(rows: Iterable[PaidPart], known: Facts, *, now: datetime) -> datetime:
    live = (one for one in rows if one.status != SubscriptionStatus.EXPIRED)
    return max(runs_until(one, known.pauses, now=now) for one in live)


def _withdrawn(agent: Agent, until: datetime | None) -> Agent:
    if until is None:
        raise ValueError("an unpaid term has no end")
    return entitlement.withdraw(agent, until=until)
