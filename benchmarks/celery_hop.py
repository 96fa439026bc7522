"""G9: how long a task waits from sending to its start, and how many tasks the sweeps of many agents send."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from celery import shared_task
from django.conf import settings
from django.test.utils import override_settings
from django.utils import timezone

from agents import creation
from agents.models import Agent
from agents.running import reconciler, sweeper
from agents.runtimes.base import Usage
from agents.watching import sampling
from benchmarks import customers, processes
from benchmarks.baseline.hop import LIST
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import in_turns
from benchmarks.recording import CALLS, note
from config import background, redis
from status.checks import QUEUES

HOPS = 200
PAUSE_SECONDS = 0.01
LIMIT_MS = 10.0
AGENTS = 1_000
ROUNDS_OF_SCANS = 40


@shared_task(name="benchmark.hop")
def hop(word: str) -> None:
    note("hop", word)


def measure() -> list[Figure]:
    calls = Path(os.environ["AGENTPODS_HOME"], "calls")
    calls.touch()
    os.environ[CALLS] = str(calls)
    return [_hop(calls), _tasks_of_sweeps()]


def _hop(calls: Path) -> Figure:
    socket = urlsplit(settings.REDIS_URL).path
    with (
        processes.worker("default", "-I", "benchmarks.celery_hop"),
        processes.started("benchmarks.baseline.hop", socket, environment={}),
    ):
        ours, theirs = in_turns(
            lambda: _median_ms(calls, lambda word: background.on_commit("benchmark.hop", word)),
            lambda: _median_ms(calls, lambda word: redis.client().lpush(LIST, word)),
        )
    value = statistics.median(ours)
    against = (
        f"{ratio(ours, theirs):.1f} x LPUSH to BRPOP between two processes on the same Redis "
        f"({statistics.median(theirs):.2f} ms); {HOPS} hops a round, one at a time, idle worker of 10 threads"
    )
    return Figure(
        "G9 Celery hop, sent to started, p50", value, "ms", f"<= {LIMIT_MS:.0f} ms", value <= LIMIT_MS, against
    )


def _median_ms(calls: Path, send: Callable[[str], object]) -> float:
    """Send one word after another, each after the last one has arrived. The median wait in milliseconds."""
    waits = []
    for number in range(HOPS):
        word, begin = f"{number}-{time.time_ns()}", calls.stat().st_size
        sent = time.time()
        send(word)
        waits.append(_arrival(calls, begin, word) - sent)
        time.sleep(PAUSE_SECONDS)
    return statistics.median(waits) * 1000


def _arrival(calls: Path, begin: int, word: str) -> float:
    deadline = time.monotonic() + 30
    with calls.open() as lines:
        while time.monotonic() < deadline:
            lines.seek(begin)
            for line in lines:
                if line.split()[1] == word:
                    return float(line.split()[2])
            time.sleep(0.001)
    raise RuntimeError("a hop that never arrived")


def _tasks_of_sweeps() -> Figure:
    """Run beat's tasks in this process, over agents that each have something due.

    No worker takes the tasks they send.
    """
    settings.AGENT_RUNTIME = "benchmarks.recording.RecordingRuntime"
    override_settings(MAX_FREE_AGENTS=AGENTS, MAX_TRIALS=0).enable()
    owner = customers.one().user
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small", webhook_url="https://hooks.example.com/agents")
    for _ in range(AGENTS):
        creation.create(owner, wanted, actor="benchmark")
    _forget_tasks()
    Agent.objects.update(reconcile_at=None)
    sweeper.sweep()
    for _ in range(ROUNDS_OF_SCANS):
        if not reconciler.reconcile_due(timezone.now() + reconciler.SOON * 2):
            break
    sampling.record(
        {agent.namespace: Usage(memory_bytes=1, disk_bytes=1) for agent in Agent.objects.all()}, now=timezone.now()
    )
    sent, running = _waiting_tasks(), Agent.objects.filter(status="running", reconcile_at=None).count()
    against = (
        f"no baseline; the minute's sweep, scans until all {running} had come up, each with its event to a webhook, "
        "and the sampling of all"
    )
    goal = f"<= {AGENTS // 100}"
    ok = sent <= AGENTS // 100 and running == AGENTS
    return Figure(f"G9 tasks sent by the sweeps of {AGENTS:,} agents", sent, "", goal, ok, against)


def _waiting_tasks() -> int:
    return sum(redis.client().llen(queue) for queue in QUEUES)


def _forget_tasks() -> None:
    redis.client().delete(*QUEUES)
