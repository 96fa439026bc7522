"""What the rules say of an agent's term, written anew and simply: an hour at a time, and nothing of the product's.

An agent of an account of its own. Free for a week, then paid or not; a suspended hour uses up nothing. A worker that is
awake looks once an hour; one that sleeps does nothing and loses nothing.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass, field
from datetime import datetime, timedelta

HOUR = timedelta(hours=1)
FREE, GRACE, KEPT = timedelta(days=7), timedelta(days=3), timedelta(days=14)
WARNINGS = (1, 2, 3)  # days


@dataclass
class Life:
    """`until` is when the present mode ends: the free week, the paid time, the grace.

    What was paid takes no free day: grace ends no earlier than the free week, `free_until`.
    """

    born: datetime
    mode: str = "trial"
    until: datetime = field(init=False)
    free_until: datetime = field(init=False)
    now: datetime = field(init=False)
    anchor: int = 0
    suspended: bool = False
    pod: str = "running"  # or stopped, deleted
    stopped_for: str = ""
    stopped_at: datetime | None = None
    lapsed_at: datetime | None = None  # the stop that the time until deletion counts from
    warned: int | None = None
    told: list[tuple[datetime, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now, self.until = self.born, self.born + FREE
        self.free_until = self.until

    def tell(self, what: str) -> None:
        self.told.append((self.now, what))

    def hour_passes(self) -> None:
        self.now += HOUR
        if self.suspended and self.now - HOUR < self.until:
            self.until += HOUR
            self.anchor = self.until.day
        if self.suspended and self.now - HOUR < self.free_until:
            self.free_until += HOUR
        if self.mode == "paid" and self.now >= self.until and not self.suspended:
            self.mode, self.until = "grace", max(self.until + GRACE, self.free_until)

    @property
    def lasts(self) -> bool:
        return self.mode == "paid" or self.now < self.until

    # What people do.

    def pay(self) -> None:
        if self.mode == "paid":
            self.until = _month_after(self.until, self.anchor)
        else:
            begins = max(self.now, self.free_until)  # free days come first
            self.mode, self.anchor = "paid", begins.day
            self.until = _month_after(begins, self.anchor)
        self.warned = self.lapsed_at = None
        self.tell("payment.confirmed")

    def refund(self) -> None:
        self.mode, self.until = "grace", max(self.now + GRACE, self.free_until)

    def suspend(self) -> None:
        self.suspended = True
        if self.pod == "running":
            self._stop("suspended")

    def restore(self) -> None:
        self.suspended = False

    def suspensions_are_looked_at(self) -> None:
        """What one has stopped starts once it is over and the agent may run, and be it long after."""
        if self.stopped_for == "suspended" and not self.suspended and self.lasts:
            self._start()

    # What a worker does.

    def look(self) -> None:
        if self.suspended or self.pod == "deleted":
            return
        if self.mode == "paid":
            if self.stopped_for == "term":
                self._start()
        elif self.now < self.until:
            self._warn()
        else:
            self._lapse()

    def _warn(self) -> None:
        reached = [days for days in WARNINGS if self.now >= self.until - timedelta(days=days)]
        if reached and (self.warned is None or reached[0] < self.warned):
            self.warned = reached[0]
            self.tell(f"deletion.warning {self.warned}")

    def _lapse(self) -> None:
        if self.pod == "running":
            self._stop("term")
        if self.warned != 0:
            self.warned, self.lapsed_at = 0, self.stopped_at
            self.tell("deletion.warning None")
        elif self.now >= max(self.until, self.lapsed_at or self.until) + KEPT:
            self.pod = "deleted"
            self.tell("agent.deleted")

    def _stop(self, why: str) -> None:
        self.pod, self.stopped_for, self.stopped_at = "stopped", why, self.now
        self.tell("agent.stopped")

    def _start(self) -> None:
        self.pod, self.stopped_for = "running", ""
        self.tell("agent.running")


def _month_after(moment: datetime, anchor: int) -> datetime:
    year, month = moment.year + moment.month // 12, moment.month % 12 + 1
    return moment.replace(year=year, month=month, day=min(anchor, calendar.monthrange(year, month)[1]))
