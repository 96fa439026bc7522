"""Checks of what must always be true of payments and terms. Each check yields one sentence per contradiction.

`manage.py check_invariants` prints the contradictions, the console shows them to operators, and Celery beat runs the
checks once a day and mails ADMINS. Nothing here repairs anything: a finding is a bug in our code, or somebody changed
the database by hand. A check is one SQL statement over all rows, or a few statements for each batch of rows that the
first statement found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from django.core.mail import mail_admins
from django.db import OperationalError, connection, transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from prometheus_client import Counter

from accounts.models import Suspension
from agents.models import Agent, Desired, Reason, Status
from billing import agent_terms
from billing.models import Order, Payment, Span, Subscription
from billing.providers import registry
from billing.term import UNKNOWN_MAX
from billing.vocabulary import LICENSED, OrderStatus, Provider, TermMode
from webhooks.models import Delivery

log = logging.getLogger(__name__)

MOST = 1_000  # findings of one check: with more than that, further ones add no information
SLACK = timedelta(minutes=10)  # changes that are younger may still be in progress
AT_ONCE = 500  # agents in a batch

FINDINGS = Counter("agentpods_ledger_findings", "Contradictions that the daily ledger checks found, each day anew.")

Check = Callable[[datetime], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Looked:
    """The findings, and the checks that did not finish in time."""

    findings: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


def broken(*, now: datetime) -> list[str]:
    """All findings of all checks. Empty when everything is right."""
    return look(now=now).findings


def look(*, now: datetime, most: int = MOST, seconds: int = 0) -> Looked:
    """Run all checks. Each yields at most `most` findings and may use `seconds` of database time (0: no limit)."""
    looked = Looked()
    of_providers = [check for part in registry.parts("invariants") for check in part.CHECKS]
    for check in [*CHECKS, *of_providers]:
        try:
            looked.findings.extend(_within(check, now=now, most=most, seconds=seconds))
        except OperationalError as error:
            if not seconds:
                raise
            log.warning("a ledger check did not finish: %s", error)
            looked.unfinished.append(check.__name__.strip("_").replace("_", " "))
    return looked


@transaction.atomic
def _within(check: Check, *, now: datetime, most: int, seconds: int) -> list[str]:
    """One check in its own transaction: rows are read from a cursor, and the time limit is for this check alone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(seconds * 1000)])
    return list(islice(check(now), most))


def report() -> int:
    """Run all checks and mail ADMINS about the findings. Returns the number of findings."""
    findings = broken(now=timezone.now())
    FINDINGS.inc(len(findings))
    if findings:
        log.error("the ledger checks found problems", extra={"findings": len(findings)})
        mail_admins(f"The ledger checks found {len(findings)} problems", "\n".join(findings))
    return len(findings)


def _live_without_payment(now: datetime) -> Iterator[str]:
    paid = Payment.objects.filter(subscription=OuterRef("pk"))
    owned = Span.objects.filter(subscription=OuterRef("pk"), payment__isnull=False)
    for row in Subscription.objects.live().filter(~Exists(paid), ~Exists(owned)).iterator():
        yield f"{row.pk} is {row.status}, but no row of the ledger paid for it"


def _time_of_nobody(now: datetime) -> Iterator[str]:
    """All paid time that no licence pays for must belong to a span that a row of the ledger bought."""
    for span in Span.objects.filter(payment=None).iterator():
        yield f"{span.subscription_id} has time from {span.starts_at:%Y-%m-%d %H:%M} that no row of the ledger bought"
    last = Span.objects.filter(subscription=OuterRef("pk")).order_by("-ends_at").values("ends_at")[:1]
    bought = Subscription.objects.paid().filter(
        ~Q(provider__in=LICENSED) | Q(provider=None) | Q(extra__gt=timedelta(0))
    )
    for row in bought.annotate(spans_end=Subquery(last)).exclude(spans_end=F("current_period_end")).iterator():
        yield f"{row.pk} is paid until {row.current_period_end:%Y-%m-%d %H:%M}, but its spans end at another time"


def _paid_order_without_subscription(now: datetime) -> Iterator[str]:
    paid = Payment.objects.filter(order=OuterRef("pk"), subscription__isnull=False)
    for order in Order.objects.filter(~Exists(paid), status=OrderStatus.PAID).iterator():
        yield f"{order.pk} is paid, but bought no subscription"


def _bought_for_another(now: datetime) -> Iterator[str]:
    """A payment, its subscription and its order must belong to the same agent."""
    others_time = Q(subscription__isnull=False) & ~Q(subscription__agent=F("agent"))
    others_order = Q(order__isnull=False) & ~Q(order__agent=F("agent"))
    for row in Payment.objects.filter(others_time | others_order).iterator():
        yield f"{row.pk} belongs to {row.agent_id}, but it paid for another agent"


def unpaid_but_running(now: datetime) -> QuerySet[Agent]:
    """Agents that run although their free or paid time is over. Uses the partial index `agent_end`."""
    over = Agent.objects.filter(entitled_until__lt=now - SLACK, user__is_active=True)
    return over.filter(desired=Desired.RUNNING, status=Status.RUNNING)


def _unpaid_but_running(now: datetime) -> Iterator[str]:
    for agent in unpaid_but_running(now).iterator():
        yield f"{agent.pk} runs, but its free or paid time ended {agent.entitled_until:%Y-%m-%d %H:%M}"


def paid_but_stopped(now: datetime) -> QuerySet[Agent]:
    """Agents that are paid for and still stopped as unpaid. Uses the partial index `agent_paid_stopped`."""
    ours = Q(operation__in=(Reason.TRIAL, Reason.PAYMENT), desired=Desired.STOPPED)
    held = Agent.objects.filter(ours, paid=True, user__is_active=True, status_since__lt=now - SLACK)
    return held.filter(Q(term_due_at__isnull=True) | Q(term_due_at__lt=now - SLACK))


def _paid_but_stopped(now: datetime) -> Iterator[str]:
    for agent in paid_but_stopped(now).iterator():
        yield f"{agent.pk} is paid for, but is still stopped as unpaid"


def _agents_that_carry_another_term(now: datetime) -> Iterator[str]:
    """Compare `Agent.paid` with the agent's term.

    The database first selects the agents that may differ, without regard to suspensions. Only for these is the term
    computed.
    """
    batch: list[Agent] = []
    for agent in _doubtful(now).iterator(chunk_size=AT_ONCE):
        batch.append(agent)
        if len(batch) == AT_ONCE:
            yield from _contradicted(batch, now)
            batch = []
    yield from _contradicted(batch, now)


def _doubtful(now: datetime) -> QuerySet[Agent]:
    """Agents whose `paid` may be wrong. Leaves out agents whose next step is due now, since that step corrects it."""
    own_clock = ~Q(provider__in=LICENSED) | Q(provider=None)
    runs = Subscription.objects.live().filter(
        Q(provider=Provider.INTERNAL)
        | Q(own_clock, current_period_end__gt=now)
        | Q(own_clock, agent_terms.BY_CARD, current_period_end__gt=now - UNKNOWN_MAX)
        | Q(provider__in=LICENSED, current_period_end__gt=now - UNKNOWN_MAX)
    )
    running = Exists(runs.filter(agent=OuterRef("pk")))
    suspended = Exists(Suspension.objects.filter(user=OuterRef("user")))
    known = Agent.objects.live().filter(user__is_active=True).exclude(term_due_at__range=(now - SLACK, now))
    doubt = ExpressionWrapper(Q(paid=True) & ~Q(running) | Q(paid=False) & Q(running) | suspended, BooleanField())
    return known.filter(doubt)


def _contradicted(agents: list[Agent], now: datetime) -> Iterator[str]:
    terms = agent_terms.terms(agents, now=now)
    for agent in agents:
        paid = terms[agent.pk].mode in {TermMode.PAID, TermMode.INTERNAL}
        if agent.paid != paid:
            yield f"{agent.pk} has paid={agent.paid}, but its term says {paid}"


def _nobody_looks(now: datetime) -> Iterator[str]:
    late = Agent.objects.live().filter(term_due_at__lt=now - SLACK, user__is_active=True)
    for agent in late.iterator():
        yield f"{agent.pk}: a step of its term was due {agent.term_due_at:%Y-%m-%d %H:%M}, but has not happened"


def _outbox_is_empty(now: datetime) -> Iterator[str]:
    """One finding for all late events: the sender does not run, or a receiver takes very long."""
    late = Delivery.objects.pending().filter(next_attempt_at__lt=now - SLACK).order_by("next_attempt_at")
    oldest = late.first()
    if oldest is not None:
        since = f"{oldest.next_attempt_at:%Y-%m-%d %H:%M}"
        yield (
            f"{late.count()} events wait to be sent; the oldest is {oldest.event_id} of {oldest.agent_id},"
            f" since {since}"
        )


CHECKS: list[Check] = [
    _live_without_payment,
    _time_of_nobody,
    _paid_order_without_subscription,
    _bought_for_another,
    _unpaid_but_running,
    _paid_but_stopped,
    _agents_that_carry_another_term,
    _nobody_looks,
    _outbox_is_empty,
]
