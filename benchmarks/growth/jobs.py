"""The work that is measured: every periodic task of the table in config/celery.py, and the requests of people.

A task is called as a worker calls it. Tasks that need another service than the database are left out, with the reason.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from agents.clusters import checking, moving
from agents.models import Pod
from agents.running import reconciler
from agents.runtimes import current_runtime
from agents.runtimes.base import Usage
from agents.runtimes.kubernetes.driver import KubernetesRuntime
from agents.watching import sampling, usage_hours
from benchmarks.growth.costs import GrowthJob, WorkKind
from config.celery import BEAT, app

# These look at every agent, pod or payment on purpose. All other tasks look for work and find none.
SWEEPS = {
    "agents.sample",
    "agents.sweep",
    "status.measure",
    "billing.check_invariants",
}
LEFT_OUT = {
    "billing.watch_chain": "asks a chain about late money; without one it ends at once",
    "billing.reread_chain": "reads a chain again; without one it ends at once",
    "billing.look_for_misplaced": "asks a chain about all addresses; without one it ends at once",
    "billing.reconcile_stars": "reads a list from Telegram, whose length has nothing to do with agents",
    "billing.catch_up_with_stripe": "reads a list from Stripe, as long as what happened in the last minutes",
}
OF_ONE_HOUR = 50  # measurements: the first one of an hour costs more, and is a line of its own


class MeasuredClusters(KubernetesRuntime):
    """Pods in clusters, as their rows show them. No node is asked what they use: that is made up here."""

    def usage(self) -> dict[str, Usage]:
        draw = random.Random(1).randrange
        return {
            namespace: Usage(memory_bytes=draw(1 << 28), disk_bytes=draw(1 << 28))
            for namespace in Pod.objects.values_list("namespace", flat=True)
        }


RUNTIME = f"{__name__}.{MeasuredClusters.__name__}"


class UsageMinutes:
    """Times of measurements, each a minute after the one before."""

    def __init__(self) -> None:
        self.now = timezone.now()

    def next(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now

    def begin_hour(self) -> None:
        self.now = usage_hours.beginning(self.now) + usage_hours.HOUR


def periodic() -> Iterator[GrowthJob]:
    """A job for each periodic task that is not left out. Those that write much come last."""
    app.loader.import_default_modules()  # as a worker does, which then knows all tasks
    runs: dict[str, Callable[[], object]] = {"agents.sweep": _sweep}
    for name in sorted(BEAT, key=lambda name: (name in SWEEPS, name)):
        if name not in LEFT_OUT and name != "agents.sample":
            task, seconds, _ = BEAT[name]
            kind = WorkKind.SWEEP if name in SWEEPS else WorkKind.IDLE
            yield GrowthJob(name=name, kind=kind, every=seconds, run=runs.get(name, app.tasks[task]))
    compared = reconciler.COMPARED_EVERY.total_seconds()
    name = "agents.reconcile_due, its comparison of all pods"
    yield GrowthJob(name=name, kind=WorkKind.SWEEP, every=compared, run=_compare)
    yield from _samplings()


def _compare() -> None:
    reconciler.compare(current_runtime(), now=timezone.now())


def _sweep() -> None:
    """The minute's sweep, with what it does only where the setting names the runtime `kubernetes`."""
    app.tasks["agents.sweep"]()
    checking.due(timezone.now())
    moving.take_away_left()


def _samplings() -> Iterator[GrowthJob]:
    minutes = UsageMinutes()

    def begin_hour() -> None:
        minutes.begin_hour()
        sampling.sample(now=minutes.now)

    yield GrowthJob(
        name="agents.sample",
        kind=WorkKind.SWEEP,
        every=BEAT["agents.sample"][1],
        run=lambda: sampling.sample(now=minutes.next()),
        before=begin_hour,
        most=OF_ONE_HOUR,
    )
    yield GrowthJob(name="agents.sample, the first of an hour", kind=WorkKind.SWEEP, every=0.0, run=begin_hour)
