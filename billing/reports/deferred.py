"""Deferred revenue: the value in USD of time that was paid for and not used yet.

For paid time it is the unused part of each span (billing/spans.py); for a licence, the same share of its last charge.
Time that an operator gave is no revenue. Spans show only the present, so the values are stored at each month's end
(`close_months`).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import groupby

from dateutil.relativedelta import relativedelta
from django.db import transaction
from django.db.models import Case, F, OuterRef, Subquery, Sum, When

from billing import agent_terms, periods, spans, subscriptions
from billing.models import DeferredRevenue, Payment, Span, Subscription
from billing.periods import MONTHS
from billing.reports.months import Months, month_of
from billing.sums import CENT
from billing.vocabulary import CONFIRMED, LICENSED, PaymentKind, Period

log = logging.getLogger(__name__)

AT_ONCE = 1_000  # subscriptions in a batch
MISSED_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class DeferredGroup:
    provider: str
    tier: str
    period: str
    currency: str


Values = Mapping[DeferredGroup, Decimal]


def deferred(*, now: datetime) -> Values:
    """The deferred revenue at this moment, in whole cents for each group."""
    found: dict[DeferredGroup, Fraction] = defaultdict(Fraction)
    for rows in _in_batches():
        for group, usd in _of_spans(rows, now=now):
            found[group] += usd
        for group, usd in _of_licences(rows, now=now):
            found[group] += usd
    return {group: _cents(found[group]) for group in sorted(found) if _cents(found[group])}


def close_months(*, now: datetime) -> int:
    """Store the deferred revenue at the end of the last month, once. Returns how many rows were written.

    A purchase or use in the minutes since the month's end does not change the result. If no worker ran within a day
    after the month's end, that month is left out: refunds since then can no longer be told apart.
    """
    ended = month_of(now)
    if now - ended > MISSED_AFTER or DeferredRevenue.objects.filter(ended_at=ended).exists():
        return 0
    values = deferred(now=ended)
    rows = [
        DeferredRevenue(
            ended_at=ended,
            provider=group.provider,
            tier=group.tier,
            period=group.period,
            currency=group.currency,
            usd=usd,
        )
        for group, usd in values.items()
    ] or [DeferredRevenue(ended_at=ended, usd=Decimal(0))]
    with transaction.atomic():
        DeferredRevenue.objects.bulk_create(rows, ignore_conflicts=True)
    log.info("a month was closed", extra={"ended": ended.isoformat(), "rows": len(rows)})
    return len(rows)


def kept(months: Months) -> list[DeferredRevenue]:
    """The values that were stored at the ends of these months."""
    rows = DeferredRevenue.objects.filter(ended_at__gt=months.first, ended_at__lte=months.after, usd__gt=0)
    return list(rows.order_by("ended_at", "provider", "tier", "period", "currency"))


def _in_batches() -> Iterator[list[Subscription]]:
    last = ""
    rows = Subscription.objects.paid().defer("license_key").order_by("pk")
    while batch := list(rows.filter(pk__gt=last)[:AT_ONCE]):
        yield batch
        last = batch[-1].pk


def _of_spans(rows: list[Subscription], *, now: datetime) -> Iterator[tuple[DeferredGroup, Fraction]]:
    by_id = {row.pk: row for row in rows}
    suspended = agent_terms.suspended({row.user_id for row in rows})
    found = Span.objects.filter(subscription__in=by_id, is_gift=False, payment__isnull=False)
    found = found.select_related("payment").order_by("subscription_id", "starts_at", "id")
    for name, of_one in groupby(found, key=lambda span: span.subscription_id):
        row = by_id[name]
        for span, rest in spans.left_of(row, of_one, suspended[row.user_id], now=now):
            payment = span.payment
            if payment is not None and payment.at <= now:
                yield (
                    DeferredGroup(payment.provider, row.tier, payment.period or row.period, payment.currency),
                    rest.usd,
                )


def _of_licences(rows: list[Subscription], *, now: datetime) -> Iterator[tuple[DeferredGroup, Fraction]]:
    licences = {row.external_ref: row for row in rows if row.provider in LICENSED}
    for payment in _charged_last(licences):
        row = licences[payment.subscription.external_ref] if payment.subscription else None
        if row is None or row.provider != payment.provider or not payment.price_usd or payment.at > now:
            continue
        till = subscriptions.licensed_until(row)
        whole = till - (till - relativedelta(months=MONTHS[Period(row.period)]))
        if till > now:
            usd = _kept(payment) * min(Fraction(1), periods.share(till - now, whole))
            yield DeferredGroup(payment.provider, row.tier, row.period, payment.currency), usd


def _kept(payment: Payment) -> Fraction:
    """The part of the payment's price that was not refunded. All of it if the amount is unknown."""
    usd = Fraction(payment.price_usd or 0)
    gone = getattr(payment, "gone", None) or 0
    return usd * Fraction(payment.amount - gone) / Fraction(payment.amount) if payment.amount else usd


def _charged_last(licences: Mapping[str, Subscription]) -> Iterator[Payment]:
    """The last charge of each licence, by the provider's reference: the key may have paid for another agent then."""
    charged = Payment.objects.filter(kind__in=CONFIRMED, subscription__external_ref__in=[*licences])
    charged = charged.filter(provider__in=LICENSED).select_related("subscription")
    back = Payment.objects.filter(refund_of=OuterRef("pk")).order_by().values("refund_of")
    came = Case(When(kind=PaymentKind.CAME_BACK, then=-F("amount")), default=F("amount"))
    charged = charged.annotate(gone=Subquery(back.annotate(sum=Sum(came)).values("sum")))
    # For rows of the same moment the larger id is the newer one: it contains the day until which it pays.
    newest = charged.order_by("subscription__external_ref", "-at", "-external_id", "-id")
    yield from newest.distinct("subscription__external_ref")


def _cents(usd: Fraction) -> Decimal:
    return (Decimal(usd.numerator) / usd.denominator).quantize(CENT, ROUND_HALF_UP)
