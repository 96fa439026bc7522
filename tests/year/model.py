"""The rules of an agent's term, written again simply: one hour at a time, without the product's code.

Each agent has an account of its own. It is free for a week, and then paid or not. A suspended hour uses up nothing. A
running worker looks once an hour; a sleeping worker does nothing and loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from billing.vocabulary import Period
from tests.billing.purchases import Model

HOUR = timedelta(hours=1)
LEAP = timedelta(seconds=30)  # between two looks; a stop that one look asks for is done by the next look
LOOKS = 3  # on the hour and after it
LOOKED = (LOOKS - 1) * LEAP
FREE, GRACE, KEPT = timedelta(days=7), timedelta(days=3), timedelta(days=14)
WARNINGS = (1, 2, 3)  # days


@dataclass
class YearLife:
    """One agent. `money` is the paid and given time, which begins after the free week; `ended` is the end of that time.

    Paid time takes no free day: grace ends no earlier than the free week.
    """

    born: datetime
    mode: str = "trial"
    ended: datetime | None = None
    now: datetime = field(init=False)
    money: Model = field(init=False)
    suspended: bool = False
    pod: str = "running"  # or stopped, deleted
    stopped_for: str = ""
    stopped_at: datetime | None = None
    lapsed_at: datetime | None = None  # the stop from which the time until the deletion is counted
    warned: int | None = None
    told: list[tuple[datetime, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now, self.money = self.born, Model(self.born, self.born + FREE)

    def tell(self, what: str) -> None:
        self.told.append((self.now, what))

    @property
    def until(self) -> datetime:
        """When the present mode ends: the free week, the paid time, or the grace."""
        if self.mode == "paid":
            return self.money.until
        if self.ended is None:
            return self.money.free_until
        return max(self.ended + GRACE, self.money.free_until)

    def hour_passes(self) -> None:
        self.now += HOUR
        if self.suspended:
            if self.mode == "grace" and self.ended and self.now - HOUR < self.ended + GRACE:
                self.ended += HOUR
            self.money.stand_still(HOUR)
            return
        if self.mode == "paid" and self.money.until <= self.now:
            self._over()
        self.money.time(self.now)

    def _over(self) -> None:
        self.mode, self.ended = "grace", self.money.until
        self.money.parts = []

    @property
    def lasts(self) -> bool:
        return self.mode == "paid" or self.now < self.until

    # Actions of people.

    def pay(self, whose: str, tier: str, period: Period, usd: Decimal) -> None:
        self.money.buy(whose, tier, period, usd)
        self._paid()
        self.tell("payment.confirmed")

    def give(self, days: int, tier: str, usd: Decimal) -> None:
        """Give days of this plan; `usd` is its price for a month."""
        self.money.give(days, tier, usd)
        self._paid()

    def _paid(self) -> None:
        self.mode, self.ended, self.warned, self.lapsed_at = "paid", None, None, None

    def take_back(self, whose: str | None) -> None:
        """Take one payment back; None takes all payments back. Given days stay."""
        for part in list(self.money.parts):
            if part.whose and whose in {None, part.whose}:
                self.money.take_back(part.whose)
        if not self.money.parts:
            self.mode, self.ended = "grace", self.now

    def suspensions_are_looked_at(self) -> None:
        """Stop a suspended agent. Start it again once the suspension is over and the agent may run, even long after."""
        if self.suspended and self.pod == "running":
            self._stop("suspended")
        if self.stopped_for == "suspended" and not self.suspended and self.lasts:
            self._start()

    # Actions of a worker.

    def look(self) -> None:
        if self.suspended or self.pod == "deleted":
            return
        if self.mode == "paid" and self.money.until <= self.now + LOOKED:
            self._over()
        if self.mode == "paid":
            if self.stopped_for == "term":
                self._start()
        elif self.now + LOOKED < self.until:
            self._warn()
        else:
            self._lapse()

    def _warn(self) -> None:
        reached = [days for days in WARNINGS if self.now + LOOKED >= self.until - timedelta(days=days)]
        if reached and (self.warned is None or reached[0] < self.warned):
            self.warned = reached[0]
            self.tell(f"deletion.warning {self.warned}")

    def _lapse(self) -> None:
        if self.pod == "running":
            self._stop("term")
            if self.now + LOOKED - LEAP < self.until:
                return  # the last look of this hour stopped the pod, so only the next look reports that
        if self.warned != 0:
            self.warned, self.lapsed_at = 0, self.stopped_at
            self.tell("deletion.warning None")
        elif self.now + LOOKED >= max(self.until, self.lapsed_at or self.until) + KEPT:
            self.pod = "deleted"
            self.tell("agent.deleted")

    def _stop(self, why: str) -> None:
        self.pod, self.stopped_for, self.stopped_at = "stopped", why, self.now
        self.tell("agent.stopped")

    def _start(self) -> None:
        self.pod, self.stopped_for = "running", ""
        self.tell("agent.running")
