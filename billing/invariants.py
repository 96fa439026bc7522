"""What must always be true of money and terms. Each check returns what contradicts it, a sentence each.

`manage.py check_invariants` prints them, an operator sees them in the console, and beat looks once a day and mails
ADMINS. Nothing here mends anything: a finding is a defect, or somebody's hand in the database.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain, islice

from django.core.mail import mail_admins
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from agents.models import Agent, Desired, Reason, Status
from billing import standing
from billing.models import Order, Payment, Subscription
from billing.vocabulary import OrderStatus, TermMode

log = logging.getLogger(__name__)

MOST = 1_000  # findings of one check: more say no more
SLACK = timedelta(minutes=10)  # for steps that are being taken
AT_ONCE = 500  # agents

Check = Callable[[datetime], Iterator[str]]


def broken(*, now: datetime) -> list[str]:
    """Everything that contradicts an invariant; empty is as it should be."""
    return list(chain.from_iterable(islice(check(now), MOST) for check in CHECKS))


def report() -> int:
    """Look at everything and tell ADMINS of what is found. Returns how much that is."""
    findings = broken(now=timezone.now())
    if findings:
        log.error("invariants of billing are broken", extra={"findings": len(findings)})
        mail_admins(f"{len(findings)} invariants of billing are broken", "\n".join(findings))
    return len(findings)


def _live_without_payment(now: datetime) -> Iterator[str]:
    paid = Payment.objects.filter(subscription=OuterRef("pk"))
    for row in Subscription.objects.live().exclude(Exists(paid)).iterator():
        yield f"{row.pk} is {row.status} and no row of the ledger paid for it"


def _paid_order_without_payment(now: datetime) -> Iterator[str]:
    paid = Payment.objects.filter(order=OuterRef("pk"), subscription__isnull=False)
    for order in Order.objects.filter(~Exists(paid), status=OrderStatus.PAID).iterator():
        yield f"{order.pk} is paid and bought no subscription"


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
    for agent in Agent.objects.live().filter(user__is_active=True).iterator(chunk_size=AT_ONCE):
        paid = standing.term(agent, now=now).mode in {TermMode.PAID, TermMode.INTERNAL}
        if agent.paid != paid and (agent.term_due_at is None or agent.term_due_at < now - SLACK):
            yield f"{agent.pk} carries paid={agent.paid}, and its term says {paid}"


def _nobody_looks(now: datetime) -> Iterator[str]:
    late = Agent.objects.live().filter(term_due_at__lt=now - SLACK, user__is_active=True)
    for agent in late.iterator():
        yield f"{agent.pk}: a step of its term was due {agent.term_due_at:%Y-%m-%d %H:%M} and is not taken"


CHECKS: list[Check] = [
    _live_without_payment,
    _paid_order_without_payment,
    _unpaid_but_running,
    _paid_but_stopped,
    _agents_that_carry_another_term,
    _nobody_looks,
]
