"""Webhook deliveries: our worker's, and those of a worker of Celery's defaults whose task POSTs with requests.

Both have the same receivers and the same Redis. What makes a delivery due is in no figure: rows here, messages there.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from django.conf import settings
from django.test.utils import override_settings

from agents.models import Agent
from benchmarks import owing, processes
from benchmarks.owing import Receivers
from benchmarks.peers import installed
from benchmarks.peers.reads import OURS
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program
from config import background

COUNT = 1_000
AGENTS = 200
HOSTS = 25
ROUNDS = 3  # after one that only warms up
REST_SECONDS = 1.0  # until the outcome of the last one is kept
SOME, DEAD = 50, 10
WHAT = "deliver a webhook"
BESIDE_DEAD = f"{SOME} deliveries, {DEAD} of them to receivers that never answer: the others"
THEIRS = f"Celery {installed.version('celery')} + requests"

Begin = Callable[[], object]


def measure() -> list[PeerFigure]:
    settings.AGENT_RUNTIME = "benchmarks.recording.RecordingRuntime"
    override_settings(MAX_FREE_AGENTS=AGENTS, MAX_TRIALS=0).enable()
    agents = owing.agents(AGENTS)
    stores = [processes.postgres(), processes.store_of_tasks()]
    with owing.receivers(HOSTS) as receivers:
        with owing.worker() as worker:
            ours = _costed(OURS, [worker, *stores], receivers, partial(_due, agents, receivers))
        with _celery() as (worker, sender):
            theirs = _costed(THEIRS, [worker, *stores], receivers, partial(_sent, sender, receivers, COUNT))
    with owing.receivers(SOME, dead=DEAD) as receivers, owing.worker():
        alive = _beside_dead(OURS, receivers, _due(agents[:SOME], receivers, each=1))
    with owing.receivers(SOME, dead=DEAD) as receivers, _celery() as (_, sender):
        return [ours, theirs, alive, _beside_dead(THEIRS, receivers, _sent(sender, receivers, SOME))]


def _costed(who: str, servers: Sequence[Program], receivers: Receivers, prepared: Callable[[], Begin]) -> PeerFigure:
    rounds = [_round(servers, receivers, prepared()) for _ in range(1 + ROUNDS)][1:]
    return PeerFigure(
        what=WHAT,
        who=who,
        cpu_ms=statistics.median(cpu for cpu, _ in rounds) * 1000 / COUNT,
        rate=statistics.median(rate for _, rate in rounds),
    )


def _round(servers: Sequence[Program], receivers: Receivers, begin: Begin) -> tuple[float, float]:
    """Seconds of CPU for all, and arrivals in a second."""
    seen, before = receivers.count(), sum(server.cpu_seconds() for server in servers)
    begin()
    owing.wait(lambda: receivers.count() >= seen + COUNT)
    time.sleep(REST_SECONDS)
    used = sum(server.cpu_seconds() for server in servers) - before
    times = [at for _, at in receivers.got()[seen:]]
    return used, (len(times) - 1) / (max(times) - min(times))


def _beside_dead(who: str, receivers: Receivers, begin: Begin) -> PeerFigure:
    begun = time.time()
    begin()
    owing.wait(lambda: receivers.count() >= SOME - DEAD)
    waits = [(at - begun) * 1000 for _, at in receivers.got()]
    return PeerFigure(what=BESIDE_DEAD, who=who, median_ms=statistics.median(waits), p99_ms=max(waits))


# Ours.


def _due(agents: list[Agent], receivers: Receivers, *, each: int = COUNT // AGENTS) -> Begin:
    owing.owe(agents, receivers, each=each)
    return partial(background.on_commit, "webhooks.drain")


# Theirs.


@contextmanager
def _celery() -> Iterator[tuple[Program, subprocess.Popen[bytes]]]:
    """A worker with Celery's defaults, and a program that sends its tasks."""
    home, socket = Path(__file__).parent, settings.REDIS_URL.partition("://")[2]
    environment = {"PLAIN_BROKER": f"redis+socket://{socket}?virtual_host=1", "DJANGO_SETTINGS_MODULE": ""}
    worker = [str(installed.BIN / "celery"), "-q", "-A", "plain_celery", "worker"]
    sender = [str(installed.BIN / "python"), "plain_celery.py"]
    before = processes.listeners()
    with processes.launched(worker, name="celery", environment=environment, directory=home) as process:
        processes.wait_until(lambda: processes.listeners() > before, process)
        theirs = {**os.environ, **environment}
        with subprocess.Popen(sender, stdin=subprocess.PIPE, env=theirs, cwd=home) as sending:
            yield Program(process.pid), sending
            assert sending.stdin
            sending.stdin.close()


def _sent(sender: subprocess.Popen[bytes], receivers: Receivers, count: int) -> Begin:
    assert sender.stdin
    urls = receivers.urls
    lines = [f"{urls[number % len(urls)]} evt_{number}\n" for number in range(count)]
    sender.stdin.write("".join(lines).encode())
    sender.stdin.flush()

    def begin() -> None:
        assert sender.stdin
        sender.stdin.write(b"\n")
        sender.stdin.flush()

    return begin
