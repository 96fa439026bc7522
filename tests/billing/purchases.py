"""What purchases amount to: a model of its own, written from the rules in words. It knows hours, prices and calendars.

Free days come first. Each payment owns its time. On another plan the unused share of what was received buys time at the
list price, a day for a 365th of a year's price. A refund takes back what is left of its payment's time; once what
brought another plan is gone, the rest is again on the plan that it was bought for.
"""

from __future__ import annotations

import calendar
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from billing.vocabulary import Period

MONTHS = {Period.MONTHLY: 1, Period.ANNUAL: 12}
YEAR = 365 * 86_400
SECOND = timedelta(seconds=1)


def months_after(moment: datetime, months: int, anchor: int) -> datetime:
    month = moment.year * 12 + moment.month - 1 + months
    year, number = divmod(month, 12)
    return moment.replace(year=year, month=number + 1, day=min(anchor, calendar.monthrange(year, number + 1)[1]))


@dataclass
class Part:
    """Whose it is, how many seconds are left of it, and what was received for those."""

    whose: str
    seconds: int
    usd: Fraction
    home: tuple[str, Fraction] | None = None  # the plan it was bought for, where that is another; its seconds there


@dataclass
class Model:
    """Knows nothing of licences: while one is live it says nothing, and its word counts again when all is over."""

    now: datetime
    free_until: datetime
    tier: str = ""
    parts: list[Part] = field(default_factory=list)
    anchor: int = 0
    known: bool = True
    events: int = 0
    rows: int = 0
    charged: dict[str, int] = field(default_factory=dict)

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
                part.home = part.home or (self.tier, Fraction(part.seconds))
                part.seconds = int(part.usd / second)
            self.parts = [part for part in self.parts if part.seconds]
            plain, self.anchor = not self.parts, begins.day
        ends = months_after(begins, MONTHS[period], self.anchor)
        bought = Part(whose, int((ends - begins) / SECOND), Fraction(usd))
        self.parts = [*self.parts, bought] if self.tier == tier else [bought, *self.parts]
        self.tier = tier
        if not plain and begins == self._begins:
            self.anchor = self.until.day

    def give(self, days: int, tier: str, usd: Decimal) -> None:
        """Worth the list price of the plan that it is given on; it belongs to nobody's payment."""
        self.tier = self.tier if self.parts else tier
        self.parts.append(Part("", days * 86_400, Fraction(usd) * 12 * days / 365))
        self.anchor = self.until.day

    def stand_still(self, length: timedelta) -> None:
        """Suspended: nothing is used up, neither free days nor paid ones."""
        if self.now < self.free_until:
            self.free_until += length
        self.now += length
        if self.parts:
            self.anchor = self.until.day

    def take_back(self, whose: str) -> None:
        kept = [part for part in self.parts if part.whose != whose]
        if len(kept) < len(self.parts):
            self.parts = kept
            self._go_home()
            self.anchor = self.until.day

    def _go_home(self) -> None:
        """What brought the plan is gone: if all that is left was bought for one other plan, it is as it was there."""
        homes = {part.home[0] if part.home else None for part in self.parts}
        if len(homes) != 1 or None in homes:
            return
        self.tier = next(home for home in homes if home)
        for part in self.parts:
            if part.home:
                part.seconds, part.home = math.ceil(part.home[1]), None

    def forget(self) -> None:
        """It cannot say until all that there is now is over."""
        self.parts, self.known = [], False

    def time(self, now: datetime) -> None:
        used = int((max(now, self.free_until) - self._begins) / SECOND)
        self.now = now
        for part in list(self.parts):
            seconds = min(used, part.seconds)
            left = Fraction(part.seconds - seconds, part.seconds)
            part.usd *= left
            if part.home:
                part.home = part.home[0], part.home[1] * left
            part.seconds, used = part.seconds - seconds, used - seconds
        self.parts = [part for part in self.parts if part.seconds]
