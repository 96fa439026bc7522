"""The lines of a plot of memory and disk, as SVG paths: a level for each step, a gap where nothing was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agents.models import UsageHour
from agents.watching.usage_hours import HOUR, beginning

HEIGHT = 100  # of the drawing: one unit per percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """The highest amount of memory or disk in one step."""

    used: int
    limit: int

    @property
    def percent(self) -> int:
        return round(self.used / self.limit * 100)


Measured = Callable[[UsageHour], Amount | None]


def memory(one: UsageHour) -> Amount | None:
    return _amount(one.memory_used_bytes, one.memory_limit_bytes)


def disk(one: UsageHour) -> Amount | None:
    return _amount(one.disk_used_bytes, one.disk_total_bytes)


def fullest(hours: list[UsageHour], of: Measured, step: timedelta) -> dict[datetime, Amount]:
    """The fullest amount of each step, by the start of the step, oldest first."""
    found: dict[datetime, Amount] = {}
    for one in hours:
        amount, at = of(one), start(one.at, step)
        if amount and (at not in found or amount.percent > found[at].percent):
            found[at] = amount
    return found


def path(most: dict[int, Amount]) -> str:
    """The SVG path: a level line for each step. Steps that follow each other are joined."""
    parts, after = [], None
    for index, amount in most.items():
        y = HEIGHT - min(amount.percent, HEIGHT)
        parts.append(f"V{y}H{index + 1}" if after == index else f"M{index} {y}H{index + 1}")
        after = index + 1
    return "".join(parts)


def start(at: datetime, step: timedelta) -> datetime:
    """The start of the step that contains this time. Steps are counted from midnight."""
    hours = step // HOUR
    return beginning(at) - HOUR * (at.hour % hours)


def _amount(used: int | None, limit: int | None) -> Amount | None:
    return None if used is None or not limit else Amount(used=used, limit=limit)
