"""Payments and refunds by month, provider, plan and currency.

Sums are in the currency that was paid: dollars, coins, stars. The columns in USD have the price of a payment, and the
same share of it for a refund.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import TruncMonth

from billing import sums as money
from billing import unplaced_charges
from billing.models import Payment
from billing.models.payments import refund_name
from billing.providers import registry
from billing.reports.months import Months, month_of
from billing.vocabulary import CONFIRMED, LICENSED, PaymentKind

NONE = Decimal(0)
EXACT = Context(prec=120)  # a uint256 has 78 digits


@dataclass(frozen=True, slots=True, order=True)
class SalesGroup:
    month: datetime
    provider: str
    tier: str
    period: str
    currency: str


@dataclass(slots=True)
class Sums:
    """`received`, `returned` and `unapplied` are in the group's currency.

    `unapplied` is the part that bought nothing yet.
    """

    payments: int = 0
    received: Decimal = NONE
    refunds: int = 0
    returned: Decimal = NONE
    unapplied: Decimal = NONE
    received_usd: Decimal = NONE
    returned_usd: Decimal = NONE

    @property
    def kept_usd(self) -> Decimal:
        return self.received_usd - self.returned_usd


@dataclass(frozen=True, slots=True)
class Sale:
    group: SalesGroup
    sums: Sums


def sales(months: Months) -> list[Sale]:
    """The sales of these months, sorted by month, provider, plan, period and currency."""
    coins = _decimals_of_coins()
    found: dict[SalesGroup, Sums] = defaultdict(Sums)
    for row in _received(months, coins):
        group, sums = _group(row), found[_group(row)]
        received = _whole(row["sum"], row["currency"], row["decimals"], coins)
        sums.payments += row["count"]
        sums.received += received
        sums.unapplied += _whole(row["bought_nothing"], row["currency"], row["decimals"], coins)
        sums.received_usd += received if _is_dollars(group.currency) else row[_price_of(group.currency)] or NONE
    for back in _returned(months).iterator(chunk_size=2_000):
        sums = found[_group(_fields(back))]
        returned = _whole(back.amount, back.currency, getattr(back, "decimals", None), coins)
        if back.kind == PaymentKind.CAME_BACK:
            returned = -returned
        sums.refunds += back.kind != PaymentKind.CAME_BACK
        sums.returned += returned
        sums.returned_usd += returned if _is_dollars(back.currency) else _share_in_usd(back)
    return [Sale(group, found[group]) for group in sorted(found)]


def _received(months: Months, coins: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    """Payments by customers, summed in groups. Time that operators gave or moved is not money.

    Only coins need their orders, which know the decimals.
    """
    rows = Payment.objects.filter(kind__in=CONFIRMED, at__gte=months.first, at__lt=months.after)
    of_coins, codes = F("order__cryptoorder__decimals"), list(coins)
    none = Value(None, output_field=IntegerField())
    others = _summed(rows.exclude(currency__in=codes).annotate(decimals=none))
    return others.union(_summed(rows.filter(currency__in=codes).annotate(decimals=of_coins)), all=True)


def _summed(rows: QuerySet[Payment]) -> QuerySet[Payment, Any]:
    return (
        rows.annotate(month=TruncMonth("at", tzinfo=UTC))
        .order_by()
        .values("month", "provider", "tier", "period", "currency", "decimals")
        .annotate(
            count=Count("pk"),
            sum=Sum("amount"),
            usd=Sum("price_usd"),
            usd_of_sales=Sum("price_usd", filter=Q(unapplied="")),
            bought_nothing=Sum("amount", filter=~Q(unapplied="") & ~Q(decision__actor=unplaced_charges.ACTOR)),
        )
    )


def _returned(months: Months) -> QuerySet[Payment]:
    kinds = [PaymentKind.REFUND, PaymentKind.REVOKE, PaymentKind.CAME_BACK]
    unknown = Q(amount=None, refund_of__isnull=False, refund_of__amount=None, provider__in=LICENSED)
    moved = Payment.objects.filter(Q(amount__isnull=False) | unknown, kind__in=kinds)
    rows = moved.filter(at__gte=months.first, at__lt=months.after)
    of_the_same = Payment.objects.filter(kind__in=kinds, refund_of=OuterRef("refund_of")).order_by()
    earlier = of_the_same.filter(Q(at__lt=OuterRef("at")) | Q(at=OuterRef("at"), pk__lt=OuterRef("pk")))
    return rows.select_related("refund_of").annotate(
        decimals=F("refund_of__order__cryptoorder__decimals"),
        before=Subquery(earlier.values("refund_of").annotate(sum=Sum("amount")).values("sum")),
    )


def _fields(row: Payment) -> dict[str, Any]:
    names = ("provider", "tier", "period", "currency")
    return {"month": month_of(row.at), **{name: getattr(row, name) for name in names}}


def _group(row: Mapping[str, Any]) -> SalesGroup:
    return SalesGroup(row["month"], row["provider"], row["tier"], row["period"], row["currency"])


def _is_dollars(currency: str) -> bool:
    return currency.upper() == "USD"


def _is_foreign(currency: str) -> bool:
    """Whether it is a foreign currency, whose value in dollars we do not know."""
    return bool(currency) and not _is_dollars(currency) and currency not in registry.currencies()


def _price_of(currency: str) -> str:
    """The column with the value in USD. Foreign money counts with its price only if it bought something."""
    return "usd_of_sales" if _is_foreign(currency) else "usd"


def _whole(units: Decimal | None, currency: str, decimals: int | None, coins: Mapping[str, int]) -> Decimal:
    """An amount in smallest units as dollars, coins or stars."""
    if units is None:
        return NONE
    if currency in coins:
        return units.scaleb(-(coins[currency] if decimals is None else decimals), EXACT)
    return units.scaleb(-money.CENT_DIGITS, EXACT)


def _share_in_usd(row: Payment) -> Decimal:
    """The value in USD of refunded coins or stars: the refunded share of their price.

    Computed as the refunded total with this refund minus the total before, so that rounded parts add up to the whole.
    """
    paid = row.refund_of or _paid(row)
    if paid is not None and paid.amount is None and row.amount is None:  # amount unknown: all of it
        return paid.price_usd or NONE
    if paid is None or not paid.price_usd or not paid.amount or row.amount is None or paid.amount == paid.over:
        return NONE
    if paid.unapplied and _is_foreign(paid.currency):
        return NONE
    asked, before = paid.amount - paid.over, getattr(row, "before", None) or NONE
    gone, gone_before = (
        money.share(paid.price_usd, of=min(units, asked), in_all=asked) for units in (before + row.amount, before)
    )
    return gone - gone_before


def _paid(row: Payment) -> Payment | None:
    """The refunded payment of a row from an earlier release, which names it only in its `external_id`."""
    names = Payment.objects.filter(provider=row.provider, agent=row.agent_id, kind__in=CONFIRMED)
    return next((one for one in names if refund_name(one.external_id) == row.external_id), None)


def _decimals_of_coins() -> dict[str, int]:
    """The decimals of each coin, for money without an order. For an unknown coin 0, so its smallest units are shown."""
    return {code: currency.decimals() or 0 for code, currency in registry.currencies().items()}
