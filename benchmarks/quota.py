"""G7: the snapshots of 10,000 agents each minute, from the runtime's answer to the rows, against one COPY of as many
rows.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import psycopg
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.runtimes.base import Usage
from agents.watching import sampling, usage_hours
from benchmarks import fleet
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import ROUNDS, in_turns

AGENTS = 10_000
LIMIT = 10.0
WAL_LIMIT = 300
STATEMENTS_LIMIT = 10
_TABLE = "create table copied (agent_id text, memory bigint, memory_limit bigint, disk bigint, disk_limit bigint)"


class Minutes:
    """Makes samples. Each is a minute after the last one, and the usage of the pods differs each time."""

    def __init__(self) -> None:
        self.now = timezone.now()
        self.namespaces = [f"pod-{number:024x}-1" for number in range(1, AGENTS + 1)]

    def next(self) -> tuple[dict[str, Usage], datetime]:
        self.now += timedelta(minutes=1)
        draw = random.Random(self.now.timestamp()).randrange
        return {
            namespace: Usage(memory_bytes=draw(1 << 28), disk_bytes=draw(1 << 28)) for namespace in self.namespaces
        }, self.now


def measure() -> list[Figure]:
    fleet.fill(range(1, AGENTS + 1), status="'running'", dseq="'pod'")
    minutes = Minutes()
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as plain:
        plain.execute(_TABLE)
        ours, theirs = in_turns(lambda: _seconds(_record(minutes)), lambda: _seconds(_copy(plain, minutes)))
        wal = _wal(plain, lambda: _record(minutes))
        copied = _wal(plain, lambda: _copy(plain, minutes))
        first = [_first_of_an_hour(minutes) for _ in range(ROUNDS)]
    with CaptureQueriesContext(connection) as queries:
        _record(minutes)()
    asked = len(queries)
    turn = statistics.median(first) * 1000
    value, own, other = ratio(ours, theirs), statistics.median(ours), statistics.median(theirs)
    against = f"one COPY of {AGENTS:,} rows to a table without index; {own * 1000:.0f} against {other * 1000:.0f} ms"
    return [
        Figure(f"G7 quota sweep of {AGENTS:,} agents, wall", value, "x", f"<= {LIMIT:.0f} x", value <= LIMIT, against),
        Figure("G7 the first sweep of an hour", turn, "ms", "reported", None, "the COPY above"),
        Figure("G7 WAL per agent", wal, "B", f"<= {WAL_LIMIT} B", wal <= WAL_LIMIT, f"the COPY: {copied:.0f} B a row"),
        Figure("G7 statements", asked, "", f"<= {STATEMENTS_LIMIT}", asked <= STATEMENTS_LIMIT, "no baseline"),
    ]


def _first_of_an_hour(minutes: Minutes) -> float:
    """The time of the first snapshot of an hour, which also writes the history of the hour before."""
    minutes.now = usage_hours.beginning(minutes.now) + usage_hours.HOUR
    return _seconds(_record(minutes))


def _record(minutes: Minutes) -> Callable[[], object]:
    samples, now = minutes.next()
    return lambda: sampling.record(samples, now=now)


def _copy(plain: psycopg.Connection[tuple[object, ...]], minutes: Minutes) -> Callable[[], object]:
    samples, _ = minutes.next()

    def copy() -> None:
        with plain.cursor() as cursor, cursor.copy("copy copied from stdin") as rows:
            for namespace, usage in samples.items():
                rows.write_row((namespace, usage.memory_bytes, 1 << 30, usage.disk_bytes, 1 << 30))

    return copy


def _seconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _wal(plain: psycopg.Connection[tuple[object, ...]], make: Callable[[], Callable[[], object]]) -> float:
    """Bytes of WAL per row. A first run is not counted, because it writes the full pages that follow a checkpoint."""
    make()()
    before = _position(plain)
    make()()
    return (_position(plain) - before) / AGENTS


def _position(plain: psycopg.Connection[tuple[object, ...]]) -> int:
    row = plain.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    return int(str(row[0])) if row else 0
