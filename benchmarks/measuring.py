"""CPU per request, and measuring in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from benchmarks import load, processes
from benchmarks.processes import Program

ROUNDS = 5
HOW = "CPU per request = server process + PostgreSQL processes"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one request in microseconds of CPU, and the answers per second."""

    server: float
    postgres: float
    rate: float

    @property
    def total(self) -> float:
        return self.server + self.postgres


@dataclass(frozen=True)
class TargetCall:
    """A request, the server that gets it, and the expected status."""

    server: Program
    request: bytes
    status: int = 200

    def cost(self, times: int) -> Cost:
        return cost(self.server, load.repeat(self.request, times), status=self.status)


def cost(server: Program, requests: Iterable[bytes], *, status: int) -> Cost:
    postgres = processes.postgres()
    before = server.cpu_seconds(), postgres.cpu_seconds()
    done = load.run(server.port, requests).expect(status)
    after = server.cpu_seconds(), postgres.cpu_seconds()
    each = 1e6 / len(done.answers)
    return Cost((after[0] - before[0]) * each, (after[1] - before[1]) * each, done.rate)


def in_turns(*measures: Callable[[], T], rounds: int = ROUNDS) -> list[list[T]]:
    """Run each measure once per round, one after another. A first round only warms up and is not counted."""
    for measure in measures:
        measure()
    found = [[measure() for measure in measures] for _ in range(rounds)]
    return [list(column) for column in zip(*found, strict=True)]


def compared(
    ours: TargetCall, theirs: TargetCall, *, times: int, rounds: int = ROUNDS
) -> tuple[list[Cost], list[Cost]]:
    mine, others = in_turns(lambda: ours.cost(times), lambda: theirs.cost(times), rounds=rounds)
    return mine, others


def described(costs: list[Cost]) -> str:
    """The median round as text."""
    server, postgres = (statistics.median(getattr(c, part) for c in costs) for part in ("server", "postgres"))
    return f"{server:.0f} + {postgres:.0f} us"
