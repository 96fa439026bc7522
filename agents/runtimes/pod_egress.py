"""Reads what a pod's gateway has counted of its engine's visits to hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from agents.pod.turns.failures import Hop, HopFailure

MOST = 10**15  # more than anything can count
MOST_BATCHES = 2**31 - 1  # a larger number has no room in the database
MOST_ROWS = 1_000
HOST_CHARACTERS = 260


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitRow:
    day: date
    host: str
    is_refused: bool
    count: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressBatch:
    """The rows of batch `number` of this book. They are new, or are handed over once more."""

    book: str
    number: int
    rows: list[VisitRow]
    is_walled: bool = False  # whether the engine is walled in


def batch_of(said: Mapping[str, Any]) -> EgressBatch | None:
    """The batch in a gateway's answer to an exchange of figures; None if there is none. Raises HopFailure."""
    told = said.get("egress")
    if told is None:
        return None
    try:
        rows = [_row(one) for one in told["rows"][:MOST_ROWS]]
        return EgressBatch(
            book=_text(told["book"])[:40],
            number=_count(told["number"], MOST_BATCHES),
            rows=rows,
            is_walled=told.get("walled") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HopFailure(Hop.GATEWAY, "the pod gave an unknown answer about its visits to hosts") from error


def _row(told: Mapping[str, Any]) -> VisitRow:
    return VisitRow(
        day=date.fromisoformat(told["day"]),
        host=_text(told["host"]),
        is_refused=told["refused"] is True,
        count=_count(told["count"]),
        sent=_count(told["sent"]),
        received=_count(told["received"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    return value[:HOST_CHARACTERS]


def _count(value: object, most: int = MOST) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise TypeError
    return value
