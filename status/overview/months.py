"""What each month brought and gave back by provider, of the stored daily facts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from urllib.parse import urlencode

from dateutil.relativedelta import relativedelta
from django.db.models import Sum
from django.db.models.functions import TruncMonth
from django.urls import reverse

from status.models import DailyFact
from status.overview.measures import day_of

MONTHS = 12
RECEIVED, RETURNED = "received_usd", "returned_usd"


@dataclass(slots=True)
class ProviderSums:
    """USD of one month. `link` leads to the payments of that month with this provider."""

    link: str
    received: Decimal = Decimal(0)
    returned: Decimal = Decimal(0)


@dataclass(slots=True)
class MoneyMonth:
    """`link` leads to the reports of this month."""

    first: date
    link: str
    providers: dict[str, ProviderSums] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.first:%Y-%m}"

    @property
    def received(self) -> Decimal:
        return sum((one.received for one in self.providers.values()), Decimal(0))

    @property
    def returned(self) -> Decimal:
        return sum((one.returned for one in self.providers.values()), Decimal(0))


def of_money(*, now: datetime) -> list[MoneyMonth]:
    """The months of the last year with any money, the newest first. One statement."""
    since = day_of(now).date.replace(day=1) - relativedelta(months=MONTHS - 1)
    rows = DailyFact.objects.filter(name__in=(RECEIVED, RETURNED), day__gte=since).annotate(month=TruncMonth("day"))
    sums: defaultdict[date, dict[tuple[str, str], Decimal]] = defaultdict(dict)
    for month, key, name, usd in rows.values_list("month", "key", "name").annotate(usd=Sum("value")).order_by("key"):
        sums[month][key, name] = usd
    return [_month(month, sums[month]) for month in sorted(sums, reverse=True)]


def _month(first: date, sums: dict[tuple[str, str], Decimal]) -> MoneyMonth:
    found = MoneyMonth(first, f"{reverse('admin:billing_reports_changelist')}?{urlencode(_from_to(first))}")
    for (provider, name), usd in sums.items():
        of_provider = found.providers.setdefault(provider, ProviderSums(_payments(first, provider)))
        if name == RECEIVED:
            of_provider.received = usd
        else:
            of_provider.returned = usd
    return found


def _from_to(first: date) -> dict[str, str]:
    return {"from": f"{first:%Y-%m}", "to": f"{first:%Y-%m}"}


def _payments(first: date, provider: str) -> str:
    after = first + relativedelta(months=1)
    wanted = {"provider__exact": provider, "at__gte": f"{first}T00:00:00+00:00", "at__lt": f"{after}T00:00:00+00:00"}
    return f"{reverse('admin:billing_payment_changelist')}?{urlencode(wanted)}"
