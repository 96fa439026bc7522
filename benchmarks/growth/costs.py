"""What one run of a job costs in CPU, and how that grows with the platform."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks import processes

ROUNDS = 5  # after one that only warms up: it prepares statements and fills caches
ROUND_SECONDS = 0.15
LEAST, MOST = 2, 5_000  # runs in a round

FEW, SOME, MANY = SIZES = (1_000, 10_000, 100_000)
IDLE_LIMIT, SWEEP_LIMIT = 1.5, 1.25


class WorkKind(StrEnum):
    IDLE = "idle"  # looks for work and finds none
    SWEEP = "sweep"  # looks at every agent or pod on purpose
    REQUEST = "request"  # answers one person


@dataclass(frozen=True, kw_only=True)
class GrowthJob:
    """A piece of work. `before` prepares each round and is not counted; `most` limits the runs of a round."""

    name: str
    kind: WorkKind
    every: float
    run: Callable[[], object]
    before: Callable[[], object] | None = None
    most: int = MOST


@dataclass(frozen=True, kw_only=True)
class GrowthWork:
    """What can be measured. `every` is after how many seconds it runs again, 0 if nothing repeats it."""

    name: str
    kind: WorkKind
    every: float = 0.0


@dataclass(frozen=True)
class Growth:
    """One piece of work at all sizes: the CPU of one run in milliseconds."""

    work: GrowthWork
    ms: Mapping[int, float] = field(default_factory=dict)

    @property
    def factor(self) -> float:
        """How many times as much the largest platform costs as the smallest one."""
        return self.ms[MANY] / self.ms[FEW]

    @property
    def steepening(self) -> float:
        """How many times as much one more agent costs on the large platform as on the small one.

        What a run costs without any agent is in neither, so it cannot hide that work grows faster than the agents do.
        """
        first, later = (self.ms[SOME] - self.ms[FEW]) / (SOME - FEW), (self.ms[MANY] - self.ms[SOME]) / (MANY - SOME)
        return later / first if first > 0 else float("inf")

    @property
    def is_well(self) -> bool:
        """Idle work and requests stay near constant; a sweep is no worse than linear."""
        if self.factor <= IDLE_LIMIT:
            return True
        return self.work.kind == WorkKind.SWEEP and self.steepening <= SWEEP_LIMIT


def cpu_ms(job: GrowthJob) -> float:
    """CPU of this process and of PostgreSQL for one run, in milliseconds, in one round of runs."""
    if job.before:
        job.before()
    server, ours = processes.postgres().cpu_seconds(), time.process_time()
    until, runs = time.monotonic() + ROUND_SECONDS, 0
    while runs < min(LEAST, job.most) or (runs < job.most and time.monotonic() < until):
        job.run()
        runs += 1
    spent = time.process_time() - ours + processes.postgres().cpu_seconds() - server
    return spent / runs * 1000
