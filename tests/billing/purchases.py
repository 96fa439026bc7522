"""A model of purchases, written from the rules in words. It knows hours, prices and calendars.

- Free days come first. Each payment owns its time.
- On another plan, the unused share of the money buys time at the list price. A day costs a 365th of a year's price.
- A refund takes back what is left of its payment's time. Once the payments that brought another plan are gone, the rest
  is on the plan before again, whatever days were given meanwhile. A used-up payment counts as having brought its plan.
"""

from __future__ import annotations

import calendar
import math
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from billing.vocabulary import Period

MONTHS = {Period.MONTHLY: 1, Period.ANNUAL: 12}
YEAR = 365 * 86_400
MONTHLY = {"tiny": 5, "small": 9, "medium": 19, "large": 39}
TEN_OF_TWELVE = Fraction(10, 12)  # a year is sold for the price of ten months
SECOND = timedelta(seconds=1)


def months_after(moment: datetime, months: int, anchor: int) -> datetime:
    month = moment.year * 12 + moment.month - 1 + months
    year, number = divmod(month, 12)
    return moment.replace(year=year, month=number + 1, day=min(anchor, calendar.monthrange(year, number + 1)[1]))


@dataclass(frozen=True)
class PurchaseHome:
    """An earlier plan of some time: the seconds that the time had there, and the payments that brought the plan."""

    tier: str
    period: Period
    seconds: Fraction
    by: frozenset[str] = frozenset()

    @property
    def usd(self) -> Fraction:
        """The list price per second."""
        return MONTHLY[self.tier] * (TEN_OF_TWELVE if self.period == Period.ANNUAL else 1) * Fraction(12, YEAR)


@dataclass
class PurchasePart:
    """The time of one payment: the payment, the seconds left, and the dollars received for them."""

    whose: str
    seconds: int
    usd: Fraction
    homes: list[PurchaseHome] = field(default_factory=list)  # empty: still on the plan that it was bought for

    def was_on(self, tier: str) -> int | None:
        return max((number for number, one in enumerate(self.homes) if one.tier == tier), default=None)


@dataclass
class Model:
    """The model. It ignores licences: while one is live it gives no answer, until all time is over."""

    now: datetime
    free_until: datetime
    tier: str = ""
    period: Period = Period.MONTHLY
    parts: list[PurchasePart] = field(default_factory=list)
    anchor: int = 0
    known: bool = True
    events: int = 0
    rows: int = 0
    charged: dict[str, int] = field(default_factory=dict)
    sold: dict[str, tuple[str, Period]] = field(default_factory=dict)
    brought: set[str] = field(default_factory=set)  # payments of the present plan
    gone: set[str] = field(default_factory=set)  # payments that were taken back

    @property
    def until(self) -> datetime:
        return self._begins + sum(part.seconds for part in self.parts) * SECOND

    @property
    def _begins(self) -> datetime:
        return max(self.now, self.free_until)

    def buy(self, whose: str, tier: str, period: Period, usd: Decimal) -> None:
        plain = not self.parts
        if self.parts and self.tier == tier:
            begins = self.until
        else:
            begins, second = self._begins, Fraction(usd) * 12 / MONTHS[period] / YEAR
            for part in self.parts:
                part.homes.append(PurchaseHome(self.tier, self.period, Fraction(part.seconds), frozenset(self.brought)))
                part.seconds = int(part.usd / second)
            self.parts = [part for part in self.parts if part.seconds]
            plain, self.anchor = not self.parts, begins.day
        ends = months_after(begins, MONTHS[period], self.anchor)
        bought = PurchasePart(whose, int((ends - begins) / SECOND), Fraction(usd))
        self.parts = [*self.parts, bought] if self.tier == tier else [bought, *self.parts]
        self.brought = {*self.brought, whose} if self.tier == tier and len(self.parts) > 1 else {whose}
        self.tier, self.period = tier, period
        self.sold[whose] = tier, period
        if not plain and begins == self._begins:
            self.anchor = self.until.day

    def give(self, days: int, tier: str, usd: Decimal) -> None:
        """Give days, which belong to no payment. Their value is the list price of the present plan."""
        if not self.parts:
            self.tier, self.period, self.brought = tier, Period.MONTHLY, set()
        self.parts.append(PurchasePart("", days * 86_400, Fraction(usd) * 12 * days / 365))
        self.anchor = self.until.day

    def stand_still(self, length: timedelta) -> None:
        """Suspended: neither free nor paid days are used up."""
        if self.now < self.free_until:
            self.free_until += length
        self.now += length
        if self.parts:
            self.anchor = self.until.day

    def take_back(self, whose: str) -> None:
        kept = [part for part in self.parts if part.whose != whose]
        self.gone.add(whose)
        if len(kept) < len(self.parts):
            self.parts = kept
            if not self.brought - self.gone:
                self._go_home()
            self._name_after()
            self.anchor = self.until.day

    def _go_home(self) -> None:
        """All payments that brought the plan have gone back: if all time left was bought for other plans, return to one
        of them.

        The plan to return to is the plan of the purchase, or a plan that a payment brought which has not gone back.
        Time that was on that plan is as it was there; other time is converted by its value, unless it is on that plan
        already.
        """
        counted = [part for part in self.parts if part.whose] or self.parts
        if not counted or not all(part.homes for part in counted):
            return
        for part in self.parts:
            part.homes = part.homes[:1] + [one for one in part.homes[1:] if one.by - self.gone]
        homes = [part.homes[-1] for part in counted]
        home = next(one for one in reversed(homes) if one.tier == homes[0].tier)
        brought: set[str] = set()
        for part in self.parts:
            number = part.was_on(home.tier)
            if number is not None:
                brought |= part.homes[number].by
                part.seconds = math.ceil(part.homes[number].seconds)
                del part.homes[number:]
            elif self.tier != home.tier:
                part.homes = part.homes or [PurchaseHome(self.tier, self.period, Fraction(part.seconds))]
                part.seconds = int(part.usd / home.usd)
        self.parts = [part for part in self.parts if part.seconds]
        self.tier, self.period, self.brought = home.tier, home.period, brought

    def _name_after(self) -> None:
        """Take the period of the last payment with time left, else of the last used-up payment for the plan."""
        paid = [part.whose for part in self.parts if part.whose][-1:]
        if paid and self.sold[paid[0]][0] != self.tier:
            paid = [whose for whose in self.sold if whose in self.brought - self.gone][-1:]
        if paid and self.sold[paid[0]][0] == self.tier:
            self.period = self.sold[paid[0]][1]

    def forget(self) -> None:
        """The model does not know the answer until all present time is over."""
        self.parts, self.known = [], False

    def time(self, now: datetime) -> None:
        used = int((max(now, self.free_until) - self._begins) / SECOND)
        self.now = now
        for part in list(self.parts):
            seconds = min(used, part.seconds)
            left = Fraction(part.seconds - seconds, part.seconds)
            part.usd *= left
            part.homes = [replace(one, seconds=one.seconds * left) for one in part.homes]
            part.seconds, used = part.seconds - seconds, used - seconds
        self.parts = [part for part in self.parts if part.seconds]
