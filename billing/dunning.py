"""An agent that nobody pays for is warned, stopped, kept for a while, and deleted.

`step` takes one due step at a time, also when it runs late. A worker that was away for a week sends no burst of
warnings and deletes nothing early: the time until deletion counts from the moment when the pod really stopped.
`Agent.term_due_at` is when the next step is due; `step_due` finds the agents.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from agents.models import Agent, Desired, Reason, Status
from agents.running import lifecycle
from billing import agent_terms, mails, next_plans, parking, reminders, subscriptions
from billing.models import Lapse, Order, Subscription
from billing.term import Term
from billing.vocabulary import OrderStatus, TermMode
from config import background
from webhooks import events
from webhooks.event_types import EventType

log = logging.getLogger(__name__)

ACTOR = "billing"
BATCH = 200
STOPPED = 0  # `trialNoticeDay` is 0 once the pod has stopped (docs/spec.md: Term mode)
DAY = timedelta(days=1)
# When to look again: while the reconciler stops the pod, while the account is suspended, while money may still come.
STOPPING, SUSPENDED, HELD = timedelta(seconds=10), timedelta(hours=1), timedelta(minutes=10)
# This query runs every few seconds and mostly finds nothing, so it reads only the smallest time, as
# agents/running/leases.py does.
_SOONEST = "SELECT extract(epoch FROM min(term_due_at))::float8 FROM agents_agent"
# The reasons of a stop that billing asked for.
OURS = {Reason.TRIAL, Reason.PAYMENT}


def step_due(*, now: datetime) -> int:
    """Take the next step of every agent whose step is due, the longest overdue first. Returns how many there were."""
    found = due(now, limit=BATCH)
    for agent_id in found:
        try:
            step(agent_id, now=now)
        except Exception:  # a bug in our code: the other agents must not wait for it
            log.exception("a step of billing failed", extra={"agent": agent_id})
            look_again(agent_id, at=now + HELD)
    if len(found) == BATCH:
        background.on_commit("billing.step_due")
    return len(found)


def due(now: datetime, *, limit: int) -> list[str]:
    """The agents whose step is due, the longest overdue first, at most `limit`."""
    with connection.cursor() as cursor:
        cursor.execute(_SOONEST)
        soonest = cursor.fetchone()[0]
    if soonest is None or soonest > now.timestamp():
        return []
    return list(Agent.objects.term_due(now).values_list("pk", flat=True)[:limit])


@transaction.atomic
def step(agent_id: str, *, now: datetime | None = None) -> None:
    """Take the next step of this agent's term, if one is due. Calling this twice is harmless."""
    agent = Agent.objects.lock(agent_id)
    now = now or timezone.now()
    look_again(agent_id, at=_next(agent, now=now))


def look_again(agent_id: str, *, at: datetime | None) -> None:
    """Set when the next step is due. Billing sets it here alone."""
    Agent.objects.filter(pk=agent_id).update(term_due_at=at)


def _next(agent: Agent, *, now: datetime) -> datetime | None:
    """Take the due step. Returns when the next step is due, or None if there is none."""
    if agent.desired == Desired.DELETED:
        return parking.park(agent, now=now)
    if User.objects.filter(pk=agent.user_id, is_active=False).exists():
        return now + SUSPENDED
    agent = agent_terms.copy(subscriptions.expire_ended(agent, now=now), now=now)
    term = agent_terms.term(agent, now=now)
    if term.mode in {TermMode.PAID, TermMode.INTERNAL}:
        return _go_on(agent, term, now=now)
    if term.stops_at is None:
        raise ValueError(f"{agent.pk}: unpaid without an end")
    agent = next_plans.begin(agent)
    return _warn(agent, term, now=now) if now < term.stops_at else _lapse(agent, term, now=now)


def paid_again(agent: Agent, *, now: datetime) -> Agent:
    """Payment came in: warnings and the planned deletion end, and the pod may run.

    The caller holds the agent's lock.
    """
    Lapse.objects.filter(agent=agent, ended_at=None).update(ended_at=now)
    return _notice(settle(agent, now=now), None)


def settle(agent: Agent, *, now: datetime) -> Agent:
    """Call this after each change of the term: it updates the agent's copy of the term and makes the next step due."""
    agent = agent_terms.copy(agent, now=now)
    look_again(agent.pk, at=now)
    background.on_commit("billing.step", agent.pk)
    return agent


def _go_on(agent: Agent, term: Term, *, now: datetime) -> datetime | None:
    """The agent is paid for: start the pod again if billing stopped it, and remind the owner before the end."""
    if agent.desired == Desired.STOPPED and agent.operation in OURS:
        if agent.status != Status.STOPPED:
            return now + STOPPING
        lifecycle.resume(agent, actor=ACTOR)
    again = reminders.remind(agent, now=now) if term.mode == TermMode.PAID else None
    return min(filter(None, (again, agent.entitled_until)), default=None)


def _warn(agent: Agent, term: Term, *, now: datetime) -> datetime:
    """Warn 3, 2 and 1 days before the stop, each once. If several warnings are due at once, only the last is sent."""
    days = sorted(agent_terms.rules().notice_days)
    stops_at = term.stops_at or now
    reached = next((day for day in days if now >= stops_at - day * DAY), None)
    if reached is not None and (agent.trial_notice_day is None or reached < agent.trial_notice_day):
        _tell(agent, term, day=reached, now=now)
    later = [stops_at - day * DAY for day in days if stops_at - day * DAY > now]
    return min(later, default=stops_at)


def _lapse(agent: Agent, term: Term, *, now: datetime) -> datetime | None:
    """The time is over: stop the pod, send a notice when it has stopped, and delete the agent after the kept days."""
    if agent.desired == Desired.RUNNING:
        lifecycle.pause(agent, reason=Reason.TRIAL if term.mode == TermMode.TRIAL else Reason.PAYMENT, actor=ACTOR)
        return now + STOPPING
    if agent.status != Status.STOPPED:
        return now + STOPPING
    if agent.trial_notice_day != STOPPED:
        Lapse.objects.get_or_create(
            agent=agent, ended_at=None, defaults={"mode": term.mode, "stopped_at": agent.status_since}
        )
        term = agent_terms.term(agent, now=now)
        _tell(agent, term, day=STOPPED, now=now)
        return term.deletes_at
    if term.deletes_at is not None and now < term.deletes_at:
        return term.deletes_at
    return _delete(agent, now=now)


def _delete(agent: Agent, *, now: datetime) -> datetime | None:
    """Delete the agent.

    Wait while an order is pending, or while a licence's provider has not said whether it is paid.
    """
    if Subscription.objects.unanswered().filter(agent=agent).exists():
        return now + HELD
    if Order.objects.filter(agent=agent, status=OrderStatus.PENDING).exists():
        return now + HELD
    lifecycle.delete(agent, actor=ACTOR, reason=Reason.EXPIRY)
    return None


def _tell(agent: Agent, term: Term, *, day: int, now: datetime) -> None:
    """Send the event and the mail of one notice. `trialNoticeDay` only goes down until somebody pays."""
    _notice(agent, day)
    kept = agent_terms.rules().kept.days
    events.emit(agent, EventType.DELETION_WARNING, {"daysLeft": day or None, "keptDays": kept}, now=now)
    mails.remind(agent, term, day=day)


def _notice(agent: Agent, day: int | None) -> Agent:
    """Set the day of the last notice. Only this function does."""
    agent.trial_notice_day = day
    agent.save(update_fields=["trial_notice_day"])
    return agent
