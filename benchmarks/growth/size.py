"""One size of the platform, as a process: fills it, then measures the work that it is asked for, line by line.

`python -m benchmarks.growth.size` is started by `python -m benchmarks.growth`, which has one for each size. So the same
work is measured on all sizes in turns, and a machine that gets busy meanwhile hits all of them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict

import django
from django.conf import settings

from benchmarks import growth
from benchmarks.growth.costs import GrowthWork, WorkKind, cpu_ms
from config import heap

OBSERVER_REST = "the observer of one of 20 clusters, a second at rest"
OBSERVER_START = "the observer's start with one of 20 clusters"

Measures = Mapping[str, Callable[[], float]]


def main() -> None:
    django.setup()
    heap.settle()  # as web and workers do
    with ExitStack() as stack:
        works, measures = _filled(stack)
        print(json.dumps([asdict(work) for work in works]), flush=True)
        for line in sys.stdin:
            print(json.dumps(measures[line.strip()]()), flush=True)


def _filled(stack: ExitStack) -> tuple[list[GrowthWork], Measures]:
    from benchmarks.growth import filling, jobs, observing, requests  # noqa: PLC0415 # they need Django

    settings.AGENT_RUNTIME = jobs.RUNTIME
    agents, began = int(os.environ[growth.AGENTS]), time.monotonic()
    filling.fill(agents)
    print(f"{agents:,} agents: filled in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    start, rest = observing.measured()
    works = [
        GrowthWork(name=OBSERVER_REST, kind=WorkKind.SWEEP, every=1.0),
        GrowthWork(name=OBSERVER_START, kind=WorkKind.SWEEP),
    ]
    measures: dict[str, Callable[[], float]] = {OBSERVER_REST: lambda: rest, OBSERVER_START: lambda: start}
    for job in jobs.periodic():
        works.append(GrowthWork(name=job.name, kind=job.kind, every=job.every))
        measures[job.name] = lambda job=job: cpu_ms(job)  # type: ignore[misc] # bound at once
    for name, ask in requests.prepared(stack, jobs.RUNTIME).items():
        works.append(GrowthWork(name=name, kind=WorkKind.REQUEST))
        measures[name] = ask
    return works, measures


if __name__ == "__main__":
    main()
