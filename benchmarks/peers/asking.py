"""Asks a server for the same thing many times: CPU and rate over eight connections, then the wait of one client."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks import load
from benchmarks.peers.rows import PeerFigure, percentile_99
from benchmarks.processes import Program

ROUNDS = 3


def asked(what: str, who: str, request: bytes, *, servers: Sequence[Program], port: int, times: int) -> PeerFigure:
    """CPU is that of all `servers`. The medians of the rounds, after one that only warms up."""
    load.run(port, load.repeat(request, times // 4)).expect(200)
    rounds = [_round(request, servers, port, times) for _ in range(ROUNDS)]
    waits = [wait for _ in range(ROUNDS) for wait in _waits(request, port, times // 2)]
    return PeerFigure(
        what=what,
        who=who,
        cpu_ms=statistics.median(cpu for cpu, _ in rounds),
        rate=statistics.median(rate for _, rate in rounds),
        median_ms=statistics.median(waits),
        p99_ms=percentile_99(waits),
    )


def _round(request: bytes, servers: Sequence[Program], port: int, times: int) -> tuple[float, float]:
    before = sum(server.cpu_seconds() for server in servers)
    done = load.run(port, load.repeat(request, times)).expect(200)
    used = sum(server.cpu_seconds() for server in servers) - before
    return used * 1000 / len(done.answers), done.rate


def _waits(request: bytes, port: int, times: int) -> list[float]:
    """Milliseconds from each request to the last byte of its answer, one at a time."""
    done = load.run(port, load.repeat(request, times), connections=1).expect(200)
    return [answer.seconds * 1000 for answer in done.answers]
