"""The owner's limits, and which of them refuses a call.

What calls under way will probably take counts too, so that many calls at once cannot pass a limit together. A limit is
exceeded by one call, and by what the calls under way take above their estimates.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Self

from agents.pod.gateway.answers import Refusal

MINUTE = 60.0
# Money is counted in units of 10^-10 USD: with prices of four places per million tokens, nothing is rounded.
UNITS_A_USD = 10**10
# Clients of all vendors show the message of this status and do not send the call again.
REACHED = 402
# These are sent again after the seconds in `Retry-After`.
TOO_FAST, UNKNOWN_YET = 429, 503


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """None: no such limit. Money is in units. `account_…`: this one comes from the account of the agent. With
    `key_name` they are the limits of the API key of this name.
    """

    day: int | None = None
    month: int | None = None
    turn_tokens: int | None = None
    minute_calls: int | None = None
    is_stopped: bool = False
    account_day: bool = False
    account_month: bool = False
    account_stop: bool = False
    key_name: str = ""

    @classmethod
    def load(cls, raw: Mapping[str, Any]) -> Self:
        """Raises KeyError or TypeError for what is not in this form. Unknown limits of a later release are left out."""
        known = {one.name for one in fields(cls)}
        loaded = cls(**{name: value for name, value in raw.items() if name in known})
        for name in ("day", "month", "turn_tokens", "minute_calls"):
            value = getattr(loaded, name)
            if value is not None and (type(value) is not int or value < 0):
                raise TypeError(name)
        return loaded

    @property
    def of_money(self) -> bool:
        return self.day is not None or self.month is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent, in units."""

    day: int = 0
    month: int = 0


class LimitReached(Refusal):
    """A limit of money is used up. `seconds` until it begins anew; the engine is not told, it must not ask again."""

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(REACHED, message)
        self.seconds = seconds


# The month first: it holds longer.
_AGAIN = {"month": "next month", "day": "at midnight UTC"}


def check_stop(limits: SpendingLimits) -> None:
    """Raises Refusal while the owner has switched model calls off."""
    if limits.is_stopped:
        whose = "of all agents of the account" if limits.account_stop else "of this agent"
        raise Refusal(REACHED, f"the owner has switched the model calls {whose} off")


def check_money(limits: SpendingLimits, spent: Spent, reserved: int, *, now: float) -> None:
    """Raises Refusal at a limit of money, LimitReached where it is used up. `reserved` is what calls under way will
    probably cost, `now` the time in Unix seconds.
    """
    set_limits = {name: getattr(limits, name) for name in _AGAIN if getattr(limits, name) is not None}
    for name, limit in set_limits.items():
        if getattr(spent, name) >= limit:
            words = f"{_whose(limits, name, limit)} is reached. {_goes_on(limits, _AGAIN[name])}"
            raise LimitReached(words, seconds=seconds_left(name, now=now))
    for name, limit in set_limits.items():
        if getattr(spent, name) + reserved >= limit:
            words = f"the calls under way may reach {_whose(limits, name, limit)}; the next is sent after them"
            raise Refusal(TOO_FAST, words, Retry_After="2")


def seconds_left(period: str, *, now: float) -> int:
    """The seconds until the next `day` or `month` begins in UTC, at least 1."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    ends = today + timedelta(days=1)
    if period == "month":
        ends = (today.replace(day=1) + timedelta(days=31)).replace(day=1)
    return max(1, math.ceil(ends.timestamp() - now))


def _goes_on(limits: SpendingLimits, again: str) -> str:
    if limits.key_name:
        return f"Turns of this key go on {again}, or when the owner raises the limit of the key"
    return f"Calls go on {again}, or when the owner raises it"


def _whose(limits: SpendingLimits, name: str, limit: int) -> str:
    """The limit in words. Of an account's limit the gateway only knows what is left for its agent: so no amount."""
    if limits.key_name:
        return f"the limit of the API key {limits.key_name!r} of {usd(limit)} USD for a {name}"
    if getattr(limits, f"account_{name}"):
        return f"the limit of all agents of the account together for a {name}"
    return f"this agent's limit of {usd(limit)} USD for a {name}"


def check_turn(limits: SpendingLimits, *, taken: int, turns: int, reserved: int) -> None:
    """Raises Refusal when the turns that run have taken their tokens."""
    if limits.turn_tokens is None:
        return
    most = limits.turn_tokens * turns
    if taken >= most:
        words = f"this turn has taken the {limits.turn_tokens} tokens that the agent's owner allows for a turn"
        raise Refusal(REACHED, words)
    if taken + reserved >= most:
        raise Refusal(
            TOO_FAST,
            "the calls under way may take what is left of the turn; the next is sent after them",
            Retry_After="2",
        )


class Pace:
    """How many calls were sent within the last minute."""

    def __init__(self) -> None:
        self._sent: deque[float] = deque()

    def check(self, limits: SpendingLimits) -> None:
        """Note a call. Raises Refusal if the minute has its calls."""
        if limits.minute_calls is None:
            self._sent.clear()
            return
        now = time.monotonic()
        while self._sent and self._sent[0] <= now - MINUTE:
            self._sent.popleft()
        if len(self._sent) >= limits.minute_calls:
            wait = int(self._sent[0] + MINUTE - now) + 1 if self._sent else int(MINUTE)
            words = f"the agent's owner allows {limits.minute_calls} model calls a minute; the next in {wait} s"
            raise Refusal(TOO_FAST, words, Retry_After=str(wait))
        self._sent.append(now)


def usd(units: int) -> str:
    """The amount for people, with at least two places."""
    text = f"{Decimal(units) / UNITS_A_USD:.10f}".rstrip("0")
    return text + "0" * max(0, 2 - len(text.partition(".")[2]))
