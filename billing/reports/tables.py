"""Reports as tables, for the console's page and for CSV with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from dateutil.relativedelta import relativedelta

from billing.providers import registry
from billing.reports.deferred import deferred, kept
from billing.reports.months import Months
from billing.reports.open_items import open_items
from billing.reports.sales import Sale, sales
from billing.reports.sources import sources
from billing.reports.taxes import taxes
from billing.reports.trials import trials
from config import csv_files

Row = tuple[str, ...]

TOTAL = "all"


@dataclass(frozen=True, slots=True)
class ReportTable:
    name: str  # also the name of its file
    title: str
    explained: str
    head: Row
    rows: Sequence[Row]


# Computed only if somebody asks for them: one reads the whole paid time of all agents, the other the whole ledger.
ON_REQUEST = {"deferred-now": "Deferred revenue now", "trials": "Trials and churn by persona, engine and tier"}


def tables(months: Months, *, now: datetime) -> list[ReportTable]:
    """All tables. The first two come from the same sales."""
    sold = sales(months)
    return [
        _providers(sold),
        _sales(sold),
        _taxes(months),
        _deferred(months),
        _deferred_now(now=now),
        _open_items(),
        _sources(months),
        _trials(months, now=now),
    ]


def quick_tables(months: Months, *, now: datetime) -> list[ReportTable]:
    """The tables that a page can show at once: all but those ON_REQUEST."""
    sold = sales(months)
    return [_providers(sold), _sales(sold), _taxes(months), _deferred(months), _open_items(), _sources(months)]


def table(name: str, months: Months, *, now: datetime) -> ReportTable | None:
    """One table. None if there is none of this name."""
    makers: dict[str, Callable[[], ReportTable]] = {
        "providers": lambda: _providers(sales(months)),
        "sales": lambda: _sales(sales(months)),
        "taxes": lambda: _taxes(months),
        "deferred": lambda: _deferred(months),
        "deferred-now": lambda: _deferred_now(now=now),
        "open-items": _open_items,
        "sources": lambda: _sources(months),
        "trials": lambda: _trials(months, now=now),
    }
    return makers[name]() if name in makers else None


def as_csv(table: ReportTable) -> str:
    """The table as CSV (RFC 4180), with a header line."""
    return "".join(csv_files.lines([table.head, *table.rows]))


def _providers(sold: Sequence[Sale]) -> ReportTable:
    """What each month brought, by provider. The last line of a month is its sum."""
    found: dict[tuple[str, str], list[Decimal]] = {}
    for sale in sold:
        month, sums = f"{sale.group.month:%Y-%m}", sale.sums
        for name in (sale.group.provider, TOTAL):
            line = found.setdefault((month, name), [Decimal(0)] * 4)
            added = (Decimal(sums.payments), sums.received_usd, sums.returned_usd, sums.kept_usd)
            line[:] = [have + more for have, more in zip(line, added, strict=True)]
    ordered = sorted(found.items(), key=lambda item: (item[0][0], item[0][1] == TOTAL, item[0][1]))
    rows = [(month, name, plain(count), *map(usd, money)) for (month, name), (count, *money) in ordered]
    head = ("month", "provider", "payments", "received_usd", "returned_usd", "kept_usd")
    return ReportTable("providers", "Earned by provider", "The sales below, summed for each provider.", head, rows)


def _sales(sold: Sequence[Sale]) -> ReportTable:
    rows = [
        (
            f"{group.month:%Y-%m}",
            group.provider,
            group.tier,
            group.period,
            group.currency,
            str(sums.payments),
            amount(sums.received, group.currency),
            amount(sums.unapplied, group.currency),
            str(sums.refunds),
            amount(sums.returned, group.currency),
            usd(sums.received_usd),
            usd(sums.returned_usd),
            usd(sums.kept_usd),
        )
        for group, sums in ((sale.group, sale.sums) for sale in sold)
    ]
    return ReportTable(
        "sales",
        "Sales and refunds",
        "From the ledger. Received and returned are in the currency of the payment. In USD, coins and stars count with"
        " the price of what they bought. Unapplied is the part of received that bought nothing. It includes coins that"
        " came for no order, in dollars, after an operator has decided about them. Money from a failed refund is"
        " subtracted from returned. A line without a currency has charges whose sum is unknown: it shows the list price"
        " in USD.",
        (
            *("month", "provider", "tier", "period", "currency", "payments", "received", "unapplied", "refunds"),
            *("returned", "received_usd", "returned_usd", "kept_usd"),
        ),
        rows,
    )


def _taxes(months: Months) -> ReportTable:
    rows = [
        (
            f"{line.month:%Y-%m}",
            line.country,
            line.name,
            plain(line.percent),
            "yes" if line.reverse_charge else "no",
            str(line.invoices),
            str(line.credit_notes),
            usd(line.total_usd),
            usd(line.tax_usd),
            usd(line.credited_usd),
            usd(line.credited_tax_usd),
        )
        for line in taxes(months)
    ]
    return ReportTable(
        "taxes",
        "Taxes",
        "From the invoices and credit notes of the month, without sales that Gumroad and Lemon Squeezy made in their"
        " own names. Totals include tax. Credited sums are subtracted.",
        (
            *("month", "country", "tax", "percent", "reverse_charge", "invoices", "credit_notes", "total_usd"),
            *("tax_usd", "credited_usd", "credited_tax_usd"),
        ),
        rows,
    )


DEFERRED = ("provider", "tier", "period", "currency", "deferred_usd")


def _deferred(months: Months) -> ReportTable:
    rows = [
        (
            f"{row.ended_at - relativedelta(months=1):%Y-%m}",
            *(row.provider, row.tier, row.period, row.currency, usd(row.usd)),
        )
        for row in kept(months)
    ]
    explained = (
        "Time that was paid for and not used yet when each month ended, as recorded at that moment. Given time is not"
        " revenue."
    )
    return ReportTable("deferred", "Deferred revenue at the ends of months", explained, ("month", *DEFERRED), rows)


def _deferred_now(*, now: datetime) -> ReportTable:
    rows = [
        (group.provider, group.tier, group.period, group.currency, usd(value))
        for group, value in deferred(now=now).items()
    ]
    return ReportTable("deferred-now", "Deferred revenue now", "The same for this moment.", DEFERRED, rows)


def _open_items() -> ReportTable:
    rows = [
        (item.kind, item.name, f"{item.at:%Y-%m-%d %H:%M}", item.agent_id, item.amount, item.currency, item.why)
        for item in open_items()
    ]
    head = ("kind", "name", "at", "agent", "amount", "currency", "why")
    return ReportTable("open-items", "Open items", "Money that waits for an operator or for a refund.", head, rows)


def _sources(months: Months) -> ReportTable:
    rows = [
        (f"{month:%Y-%m}", source, *map(str, (line.sign_ups, line.trials, line.bought)), line.percent, str(line.ended))
        for month, source, line in sources(months)
    ]
    return ReportTable(
        "sources",
        "Trials and ends by source",
        "The source is what the browser named at the first sign-in (utm_source). Trials are the agents created in the"
        " month, paid is how many of those agents were paid for until now, and ended is how many agents stopped in the"
        " month after paid time. Of an erased account the source is unknown.",
        ("month", "source", "sign_ups", "trials", "paid", "paid_percent", "ended"),
        rows,
    )


def _trials(months: Months, *, now: datetime) -> ReportTable:
    rows = [
        (
            *(by, f"{month:%Y-%m}", name),
            *(str(line.trials), str(line.bought), line.converted, str(line.paid), str(line.ended), line.churn),
        )
        for (by, month, name), line in trials(months, now=now)
    ]
    return ReportTable(
        "trials",
        "Trials and churn by persona, engine and tier",
        "Trials are the agents created in the month, bought is how many of those were paid for until now. Paid is how"
        " many agents were paid, or given time, when the month began, and ended is how many stopped in the month after"
        " paid time: churn is ended in percent of paid. An agent counts under the engine and the tier that it has now.",
        ("by", "month", "name", "trials", "bought", "bought_percent", "paid", "ended", "churn_percent"),
        rows,
    )


def usd(number: Decimal) -> str:
    return f"{number:.2f}"


def amount(number: Decimal, currency: str) -> str:
    """Dollars with two decimals, whole stars, coins with all their digits."""
    return plain(number) if currency in registry.currencies() else usd(number)


def plain(number: Decimal) -> str:
    """The number without an exponent and without trailing zeros."""
    whole, _, part = f"{number:f}".partition(".")
    part = part.rstrip("0")
    return f"{whole}.{part}" if part else whole
