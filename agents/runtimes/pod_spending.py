"""The control plane's client for what a pod's gateway has counted of model calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from agents.pod.turns.failures import Hop, HopFailure
from agents.runtimes import pod_egress, pod_replay
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.management import body_of, call
from agents.runtimes.pod_egress import EgressBatch
from agents.runtimes.pod_replay import ReplayBatch

EXCHANGE_SECONDS = 5.0
MAX_BYTES = 1024 * 1024
MOST = 10**15  # more than anything can count
MOST_BATCHES = 2**31 - 1  # a larger number has no room in the database
MOST_ROWS = 1_000  # twice as many as gateways have of one kind
COUNTS = ("calls", "failed", "estimated", "input", "cached", "written", "output", "reasoning")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRow:
    day: date
    model: str  # its id in the catalog
    kind: str
    session: str
    counts: Mapping[str, int]  # by each of COUNTS


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCountedRow:
    """Of calls that turns of an API key made. They are in a CountedRow too."""

    day: date
    model: str
    api_key: str  # its id
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingBatch:
    """The rows of batch `number` of this book. They are new, or are handed over once more."""

    book: str
    number: int
    rows: list[CountedRow]
    key_rows: list[KeyCountedRow] = field(default_factory=list)
    replay: ReplayBatch = field(default_factory=ReplayBatch)
    egress: EgressBatch | None = None


def exchange(endpoint: Endpoint, access: Access, news: Mapping[str, Any]) -> SpendingBatch:
    """Give the gateway limits and prices, and get the batch that is due. Raises HopFailure."""
    with call("POST", endpoint, access, "/spending", seconds=EXCHANGE_SECONDS, body=dict(news)) as answer:
        if answer.status_code == 404:
            raise HopFailure(Hop.GATEWAY, "the pod is of an earlier release, which does not count model calls")
        said = body_of(answer, "book", "number", "rows", at_most=MAX_BYTES)
    try:
        rows = [_row(one) for one in said["rows"][:MOST_ROWS]]
        return SpendingBatch(
            book=_text(said["book"], 40),
            number=_count(said["number"], MOST_BATCHES),
            rows=rows,
            key_rows=[_key_row(one) for one in said.get("key_rows", [])[:MOST_ROWS]],  # an earlier release has none
            replay=pod_replay.read(said.get("replay"), today=datetime.now(UTC).date()),
            egress=pod_egress.batch_of(said),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HopFailure(Hop.GATEWAY, "the pod gave an unknown answer about its model calls") from error


def _row(told: Mapping[str, Any]) -> CountedRow:
    return CountedRow(
        day=date.fromisoformat(told["day"]),
        model=_text(f"{told['provider']}:{told['model']}", 240),
        kind=_text(told["kind"], 12),
        session=_text(told["session"], 128),
        counts=_counts(told),
    )


def _key_row(told: Mapping[str, Any]) -> KeyCountedRow:
    return KeyCountedRow(
        day=date.fromisoformat(told["day"]),
        model=_text(f"{told['provider']}:{told['model']}", 240),
        api_key=_text(told["api_key"], 40),
        counts=_counts(told),
    )


def _counts(told: Mapping[str, Any]) -> dict[str, int]:
    """What was read from a cache or written to it is a part of the input: more of it would cost less than nothing."""
    counts = {name: _count(told.get(name, 0)) for name in COUNTS}
    if counts["cached"] + counts["written"] > counts["input"]:
        raise ValueError
    return counts


def _text(value: object, most: int) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    return value[:most]


def _count(value: object, most: int = MOST) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise TypeError
    return value
