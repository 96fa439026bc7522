"""What must always be true of money and terms. Each check returns what contradicts it, a sentence each.

`manage.py check_invariants` prints them, an operator sees them in the console, and beat looks once a day and mails
ADMINS. Nothing here mends anything: a finding is a defect, or somebody's hand in the database. A check is one statement
over all rows, or a few for each batch of what that statement found.
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

from accounts.models import Suspension
from agents.models import Agent, Desired, Reason, Status
from billing import standing
from billing.crypto import invariants as stablecoins
from billing.models import Order, Payment, Span, Subscription
from billing.stars import invariants as charges
from billing.stripe import invariants as cards
from billing.term import UNKNOWN_MAX
from billing.vocabulary import LICENSED, OrderStatus, Provider, TermMode
from webhooks.models import Delivery

log = logging.getLogger(__name__)

MOST = 1_000  # findings of one check: more say no more
SLACK = timedelta(minutes=10)  # for steps that are being taken
AT_ONCE = 500  # agents

Check = Callable[[datetime], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found, and which checks could not be finished in the time that they were given."""

    findings: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


def broken(*, now: datetime) -> list[str]:
    """Everything that contradicts an invariant; empty is as it should be."""
    return look(now=now).findings


def look(*, now: datetime, most: int = MOST, seconds: int = 0) -> Looked:
    """Up to so many findings of each check; each may take so many seconds of the database (0: as many as it needs)."""
    looked = Looked()
    for check in CHECKS:
        try:
            looked.findings.extend(_within(check, now=now, most=most, seconds=seconds))
        except OperationalError as error:
            if not seconds:
                raise
            log.warning("a check of billing was not finished: %s", error)
            looked.unfinished.append(check.__name__.strip("_").replace("_", " "))
    return looked


@transaction.atomic
def _within(check: Check, *, now: datetime, most: int, seconds: int) -> list[str]:
    """In a transaction, where rows are fetched as they are read and the limit is its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(seconds * 1000)])
    return list(islice(check(now), most))


def report() -> int:
    """Look at everything and tell ADMINS of what is found. Returns how much that is."""
    findings = broken(now=timezone.now())
    if findings:
        log.error("invariants of billing are broken", extra={"findings": len(findings)})
        mail_admins(f"{len(findings)} invariants of billing are broken", "\n".join(findings))
    return len(findings)


def _live_without_payment(now: datetime) -> Iterator[str]:
    paid = Payment.objects.filter(subscription=OuterRef("pk"))
    owned = Span.objects.filter(subscription=OuterRef("pk"), payment__isnull=False)
    for row in Subscription.objects.live().filter(~Exists(paid), ~Exists(owned)).iterator():
        yield f"{row.pk} is {row.status} and no row of the ledger paid for it"


def _time_of_nobody(now: datetime) -> Iterator[str]:
    """All that is paid, but for what a licence pays for, is somebody's span."""
    for span in Span.objects.filter(payment=None).iterator():
        yield f"{span.subscription_id} has time from {span.starts_at:%Y-%m-%d %H:%M} that no row of the ledger bought"
    last = Span.objects.filter(subscription=OuterRef("pk")).order_by("-ends_at").values("ends_at")[:1]
    bought = Subscription.objects.paid().filter(
        ~Q(provider__in=LICENSED) | Q(provider=None) | Q(extra__gt=timedelta(0))
    )
    for row in bought.annotate(spans_end=Subquery(last)).exclude(spans_end=F("current_period_end")).iterator():
        yield f"{row.pk} is paid until {row.current_period_end:%Y-%m-%d %H:%M}, and its spans end another time"


def _paid_order_without_subscription(now: datetime) -> Iterator[str]:
    paid = Payment.objects.filter(order=OuterRef("pk"), subscription__isnull=False)
    for order in Order.objects.filter(~Exists(paid), status=OrderStatus.PAID).iterator():
        yield f"{order.pk} is paid and bought no subscription"


def _bought_for_another(now: datetime) -> Iterator[str]:
    """Whatever paid for a subscription is of its agent, and so is the order that it was for."""
    others_time = Q(subscription__isnull=False) & ~Q(subscription__agent=F("agent"))
    others_order = Q(order__isnull=False) & ~Q(order__agent=F("agent"))
    for row in Payment.objects.filter(others_time | others_order).iterator():
        yield f"{row.pk} is of {row.agent_id}, and what it paid for is another's"


def _unpaid_but_running(now: datetime) -> Iterator[str]:
    over = Agent.objects.filter(entitled_until__lt=now - SLACK, user__is_active=True)
    for agent in over.filter(desired=Desired.RUNNING, status=Status.RUNNING).iterator():
        yield f"{agent.pk} runs, and what it may run on ended {agent.entitled_until:%Y-%m-%d %H:%M}"


def _paid_but_stopped(now: datetime) -> Iterator[str]:
    ours = Q(operation__in=(Reason.TRIAL, Reason.PAYMENT), desired=Desired.STOPPED)
    held = Agent.objects.filter(ours, paid=True, user__is_active=True, status_since__lt=now - SLACK)
    for agent in held.filter(Q(term_due_at__isnull=True) | Q(term_due_at__lt=now - SLACK)).iterator():
        yield f"{agent.pk} is paid for, and still stopped for want of payment"


def _agents_that_carry_another_term(now: datetime) -> Iterator[str]:
    """Asked of the database as if no account had ever been suspended; of what that leaves in doubt, the term itself."""
    batch: list[Agent] = []
    for agent in _doubtful(now).iterator(chunk_size=AT_ONCE):
        batch.append(agent)
        if len(batch) == AT_ONCE:
            yield from _contradicted(batch, now)
            batch = []
    yield from _contradicted(batch, now)


def _doubtful(now: datetime) -> QuerySet[Agent]:
    """Leaves out agents whose step is just due: it sets right what they carry."""
    own_clock = ~Q(provider__in=LICENSED) | Q(provider=None)
    runs = Subscription.objects.live().filter(
        Q(provider=Provider.INTERNAL)
        | Q(own_clock, current_period_end__gt=now)
        | Q(own_clock, standing.BY_CARD, current_period_end__gt=now - UNKNOWN_MAX)
        | Q(provider__in=LICENSED, current_period_end__gt=now - UNKNOWN_MAX)
    )
    running = Exists(runs.filter(agent=OuterRef("pk")))
    suspended = Exists(Suspension.objects.filter(user=OuterRef("user")))
    known = Agent.objects.live().filter(user__is_active=True).exclude(term_due_at__range=(now - SLACK, now))
    doubt = ExpressionWrapper(Q(paid=True) & ~Q(running) | Q(paid=False) & Q(running) | suspended, BooleanField())
    return known.filter(doubt)


def _contradicted(agents: list[Agent], now: datetime) -> Iterator[str]:
    terms = standing.terms(agents, now=now)
    for agent in agents:
        paid = terms[agent.pk].mode in {TermMode.PAID, TermMode.INTERNAL}
        if agent.paid != paid:
            yield f"{agent.pk} carries paid={agent.paid}, and its term says {paid}"


def _nobody_looks(now: datetime) -> Iterator[str]:
    late = Agent.objects.live().filter(term_due_at__lt=now - SLACK, user__is_active=True)
    for agent in late.iterator():
        yield f"{agent.pk}: a step of its term was due {agent.term_due_at:%Y-%m-%d %H:%M} and is not taken"


def _outbox_is_empty(now: datetime) -> Iterator[str]:
    """One line for all of them: what is due for so long waits for a sender, or for a receiver that takes very long."""
    late = Delivery.objects.pending().filter(next_attempt_at__lt=now - SLACK).order_by("next_attempt_at")
    oldest = late.first()
    if oldest is not None:
        since = f"{oldest.next_attempt_at:%Y-%m-%d %H:%M}"
        yield f"{late.count()} events wait to be sent, {oldest.event_id} of {oldest.agent_id} since {since}"


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
    *stablecoins.CHECKS,
    *charges.CHECKS,
    *cards.CHECKS,
]
