"""The rules of paid time for one agent, in seconds, dollars and dates. It imports nothing of the product.

It is written from docs/reference/billing.md, and differs from what a newcomer would expect in these places:

- Time that was moved to another plan remembers the plan that it was bought for, and the plans in between. Once the
  cause of the present plan is gone (its payment was refunded, its licence ended), the time is on the plan before again,
  as if it had never left. The agent keeps a plan as long as one payment for it has not gone back, even if that payment
  is used up. Plans whose payments have all gone back are skipped. Time that was never on the plan is converted by its
  value; so are days that were given meanwhile.
- A licence of another plan converts the time beside it at list prices, and the end of the licence undoes this.
- A charge that succeeds at a later try buys time from then on, like any other payment.
"""

from __future__ import annotations

import calendar
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction

S = timedelta(seconds=1)
YEAR = 365 * 86_400
MONTHLY = {"tiny": 5, "small": 9, "medium": 19, "large": 39}
MONTHS = {"monthly": 1, "annual": 12}


def listed(tier: str, period: str) -> Fraction:
    return Fraction(MONTHLY[tier] * (1 if period == "monthly" else 10))


def per_second(tier: str, period: str) -> Fraction:
    return listed(tier, period) * (12 if period == "monthly" else 1) / YEAR


def month_after(start: datetime, months: int, day: int) -> datetime:
    number = start.year * 12 + start.month - 1 + months
    year, month = number // 12, number % 12 + 1
    return start.replace(year=year, month=month, day=min(day, calendar.monthrange(year, month)[1]))


@dataclass
class HomePart:
    """An earlier plan of some time: how many seconds the time had there, and the payments that brought the plan."""

    tier: str
    period: str
    seconds: Fraction
    by: list[str]


@dataclass
class TermPart:
    whose: str  # the payment; empty for given time
    seconds: int
    usd: Fraction
    # Earlier plans, the plan of the purchase first; empty: still on the plan of the purchase.
    homes: list[HomePart] = field(default_factory=list)

    def convert(self, tier: str, period: str, by: list[str], *, to: tuple[str, str]) -> None:
        """Move the time to another plan: its value buys time at the list price there."""
        self.homes.append(HomePart(tier, period, Fraction(self.seconds), list(by)))
        self.seconds = int(self.usd / per_second(*to))

    def was_on(self, tier: str) -> int | None:
        return max((number for number, one in enumerate(self.homes) if one.tier == tier), default=None)

    def go_to(self, tier: str) -> bool:
        """Return to this plan as if the time had stayed there. False: the time was never on it."""
        number = self.was_on(tier)
        if number is None:
            return False
        self.seconds = math.ceil(self.homes[number].seconds)
        del self.homes[number:]
        return True

    def use(self, seconds: int) -> None:
        left = Fraction(self.seconds - seconds, self.seconds)
        self.usd *= left
        for home in self.homes:
            home.seconds *= left
        self.seconds -= seconds


@dataclass
class ModelLicence:
    tier: str
    period: str
    sold: datetime
    ends: datetime | None = None  # the end of a cancelled licence, which does not renew

    def till(self, now: datetime) -> datetime:
        if self.ends:
            return self.ends
        count = 1
        while (found := month_after(self.sold, count * MONTHS[self.period], self.sold.day)) <= now:
            count += 1
        return found


@dataclass
class Membership:
    """Charged each month from the day of the sale, for whichever agent, until it is cancelled or refunded."""

    agent: str
    tier: str
    cents: int
    sold: datetime
    seller: str
    name: str  # its name in the ledger
    over: datetime | None = None  # when the buyer cancelled, or when it was refunded
    refunded: bool = False

    def charges(self, now: datetime) -> int:
        count, until = 1, self.over or now
        while month_after(self.sold, count, self.sold.day) <= until:
            count += 1
        return count


@dataclass
class Life:
    """The time and plan of one agent."""

    now: datetime
    free_until: datetime
    tier: str = "tiny"
    period: str = "monthly"
    parts: list[TermPart] = field(default_factory=list)
    day: int = 0  # the day of the month that plain renewals keep; 0 after the end was moved
    licence: ModelLicence | None = None
    granted: bool = False
    suspended: bool = False
    dead: bool = False
    lapsed: datetime | None = None
    terms: dict[str, tuple[str, str]] = field(default_factory=dict)  # by payment: plan and period
    by: list[str] = field(default_factory=list)  # the payments that brought the present plan
    gone: set[str] = field(default_factory=set)  # payments of all agents whose money went back or is disputed

    # Time.

    def begins(self) -> datetime:
        start = max(self.now, self.free_until)
        return max(start, self.licence.till(self.now)) if self.licence else start

    def total(self) -> int:
        return sum(part.seconds for part in self.parts)

    def until(self) -> datetime | None:
        if self.parts:
            return self.begins() + self.total() * S
        return self.licence.till(self.now) if self.licence else None

    def advance(self, to: datetime) -> None:
        if self.dead:  # a deleted agent's time stands still
            self.now = to
            return
        if self.suspended:
            self._stand_still(to)
            return
        start = max(self.now, self.free_until)
        if self.licence:
            if self.licence.ends is None or self.licence.ends > to:
                self.now = to
                return
            start = max(start, self.licence.ends)
            self._license_over(self.licence.ends)
        self._use(start, to)

    def _stand_still(self, to: datetime) -> None:
        """Suspended: free and bought days are kept, but a licence goes on by its provider's dates."""
        if self.now < self.free_until:
            self.free_until += to - self.now
        if self.parts:
            self.day = 0
        self.now = to
        if self.licence and self.licence.ends and self.licence.ends <= to:
            self._license_over(self.licence.ends)

    def _use(self, start: datetime, to: datetime) -> None:
        used, self.now = max(0, int((to - start) / S)), to
        was = start + self.total() * S
        for part in list(self.parts):
            gone = min(used, part.seconds)
            part.use(gone)
            used -= gone
        had = bool(self.parts)
        self.parts = [part for part in self.parts if part.seconds]
        if had and not self.parts:
            self.lapsed, self.day = was, 0

    # Money.

    def buy(self, whose: str, tier: str, period: str, usd: Fraction) -> None:
        self.terms[whose] = (tier, period)
        months = MONTHS[period]
        if self.licence:
            length = int((month_after(self.now, months, self.now.day) - self.now) / S)
            self.parts.append(TermPart(whose, length, usd))
            if self.tier == tier:
                self.by.append(whose)
            return
        if self.parts and self.tier == tier:
            end = self.until()
            assert end
            self.day = self.day or end.day
            length = int((month_after(end, months, self.day) - end) / S)
            self.parts.append(TermPart(whose, length, usd))
            self.by.append(whose)
        else:
            start = self.begins()
            self._convert(tier, period)
            self.day = 0 if self.parts else start.day
            length = int((month_after(start, months, start.day) - start) / S)
            self.parts.insert(0, TermPart(whose, length, usd))
            self.by = [whose]
        self.tier, self.period = tier, period

    def give(self, days: int) -> None:
        if not self.parts and not self.licence:
            self.period, self.by = "monthly", []
        length = days * 86_400
        self.parts.append(TermPart("", length, length * per_second(self.tier, "monthly")))
        self.day = 0

    def license(self, tier: str, period: str, sold: datetime) -> None:
        if self.tier != tier:
            self._convert(tier, period)
        if self.tier != tier or not (self.parts or self.licence):
            self.by = []
        self.tier, self.period, self.licence = tier, period, ModelLicence(tier, period, sold)
        self.day = 0

    def unlicense(self) -> None:
        self._license_over(self.now)

    def _license_over(self, at: datetime) -> None:
        """The licence ends; time that was bought beside it goes on."""
        self.licence, self.lapsed, self.day = None, at, 0
        if not self._is_held(self.by):
            self._go_home()
        self._name_after()

    def _is_held(self, by: list[str]) -> bool:
        return any(whose not in self.gone for whose in by)

    def _convert(self, tier: str, period: str) -> None:
        for part in self.parts:
            part.convert(self.tier, self.period, self.by, to=(tier, period))
        self.parts = [part for part in self.parts if part.seconds]

    def _go_home(self) -> None:
        counted = [part for part in self.parts if part.whose] or self.parts
        if not counted or not all(part.homes for part in counted):
            return
        for part in self.parts:
            part.homes = part.homes[:1] + [one for one in part.homes[1:] if self._is_held(one.by)]
        homes = [part.homes[-1] for part in counted]
        home = next(one for one in reversed(homes) if one.tier == homes[0].tier)
        found = [(part, part.was_on(home.tier)) for part in self.parts]
        by = [whose for part, number in found if number is not None for whose in part.homes[number].by]
        for part in self.parts:
            if not part.go_to(home.tier) and self.tier != home.tier:
                known = part.homes
                part.convert(self.tier, self.period, [], to=(home.tier, home.period))
                part.homes = known[:-1] or known  # forget that plan, but keep the time given on it
        self.parts = [part for part in self.parts if part.seconds]
        self.tier, self.period, self.by = home.tier, home.period, list(dict.fromkeys(by))

    def _name_after(self) -> None:
        """Take the period of the last payment with time left, else of the last payment that brought the plan."""
        paid = [part.whose for part in self.parts if part.whose][-1:]
        if paid and self.terms.get(paid[0], ("", ""))[0] != self.tier:
            paid = [whose for whose in self.by if whose not in self.gone][-1:]
        if paid and self.terms.get(paid[0], ("", ""))[0] == self.tier:
            self.period = self.terms[paid[0]][1]

    def take_back(self, whose: str) -> TermPart | None:
        """Remove the rest of this payment's time and return it."""
        found = [part for part in self.parts if part.whose == whose]
        if not found:
            return None
        self.parts = [part for part in self.parts if part.whose != whose]
        self.day = 0
        if not self.licence:
            if not self._is_held(self.by):
                self._go_home()
            self._name_after()
        if not self.parts:
            self.lapsed = self.now
        assert len(found) == 1
        return found[0]

    def add(self, parts: list[TermPart], tier: str, period: str, by: list[str]) -> None:
        """Add time from another agent."""
        if not self.parts and not self.licence:
            self.tier, self.period, self.by = tier, period, list(by)
        if tier != self.tier:
            for part in parts:
                part.convert(tier, period, by, to=(self.tier, self.period))
        self.parts += [part for part in parts if part.seconds]
        self.day = 0
