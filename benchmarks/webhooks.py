"""Webhooks: CPU per delivery, how much dead receivers slow the others, and what a killed worker loses.

Real `worker-webhooks` processes run without beat; the receivers run in their own process.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.test.utils import override_settings

from agents.models import Agent
from benchmarks import owing
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import in_turns
from benchmarks.processes import Program
from benchmarks.receivers import host
from config import background
from tests.doubles.certificates import Certificates
from webhooks.models import Delivery

ROUNDS = 3
AGENTS = 200
EVENTS_EACH = 5

COSTED = 2_000
COSTED_HOSTS = 25  # at most eight deliveries run to each at a time
PLAIN_MS, TLS_MS = 1.0, 3.0

HEALTHY_SECONDS = {20: 10.0, 40: 20.0}  # by the percentage of dead receivers

BEFORE_THE_KILL = 100
DONE_AFTER_KILL_SECONDS = 35.0  # a lease of 30 s, and a little more


def measure() -> list[Figure]:
    settings.AGENT_RUNTIME = "benchmarks.recording.RecordingRuntime"
    override_settings(MAX_FREE_AGENTS=AGENTS, MAX_TRIALS=0).enable()
    with tempfile.TemporaryDirectory() as directory:
        made = Certificates(Path(directory))
        made.server(*(host(number) for number in range(COSTED_HOSTS)))
        agents = owing.agents(AGENTS)
        return [
            _cost(agents, "plain", PLAIN_MS),
            _cost(agents, "TLS", TLS_MS, made=made),
            *_isolation(agents),
            *_crash(agents),
        ]


# CPU per delivery.


def _cost(agents: list[Agent], kind: str, limit: float, *, made: Certificates | None = None) -> Figure:
    trust = {"SSL_CERT_FILE": str(made.authority)} if made else {}
    with (
        owing.receivers(COSTED_HOSTS, made=made) as receivers,
        owing.worker(**trust) as worker,
        _bare(receivers, trust) as bare,
    ):
        ours, theirs = in_turns(lambda: _delivered(worker, agents, receivers), lambda: _posted(bare), rounds=ROUNDS)
    value, other = statistics.median(ours), statistics.median(theirs)
    against = (
        f"{ratio(ours, theirs):.1f} x a bare loop of POSTs with the same library, {other:.2f} ms; CPU of the worker "
        f"alone; {COSTED:,} deliveries of 600 bytes a round to {COSTED_HOSTS} receivers, a new connection each; "
        f"median of {ROUNDS} rounds"
    )
    ok = value < limit
    return Figure(f"Webhooks: CPU per delivery, {kind}", value, "ms", f"< {limit:.0f} ms", ok, against)


def _delivered(worker: Program, agents: list[Agent], receivers: owing.Receivers) -> float:
    owing.owe(agents, receivers, each=COSTED // AGENTS)
    before = worker.cpu_seconds()
    background.on_commit("webhooks.drain")
    owing.wait(owing.all_done)
    return (worker.cpu_seconds() - before) * 1000 / COSTED


@contextmanager
def _bare(receivers: owing.Receivers, trust: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "benchmarks.baseline.posts", str(COSTED), *receivers.urls]
    environment = {**os.environ, **trust}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def _posted(bare: subprocess.Popen[bytes]) -> float:
    assert bare.stdin
    assert bare.stdout
    program = Program(bare.pid)
    before = program.cpu_seconds()
    bare.stdin.write(b"\n")
    bare.stdin.flush()
    bare.stdout.readline()
    return (program.cpu_seconds() - before) * 1000 / COSTED


# Dead receivers beside healthy ones.


def _isolation(agents: list[Agent]) -> list[Figure]:
    found = {share: [_last_healthy(agents, share) for _ in range(ROUNDS)] for share in (0, *HEALTHY_SECONDS)}
    alone = statistics.median(found[0])
    figures = []
    for share, limit in HEALTHY_SECONDS.items():
        value, worst = statistics.median(found[share]), max(found[share])
        against = (
            f"{value / alone:.1f} x the same without a dead one ({alone:.1f} s); {AGENTS} receivers, {EVENTS_EACH} "
            f"events each, the dead never answer; one worker of 50 slots; the slowest of {ROUNDS} rounds {worst:.1f} s"
        )
        name = f"Webhooks: {share} % dead, last healthy delivery"
        figures.append(Figure(name, value, "s", f"< {limit:.0f} s", value < limit, against))
    return figures


def _last_healthy(agents: list[Agent], share: int) -> float:
    """Seconds from the commit of all events to the last delivery at a healthy receiver."""
    dead = AGENTS * share // 100
    with owing.receivers(AGENTS, dead=dead) as receivers, owing.worker("-I", "benchmarks.fifty_slots"):
        owing.owe(agents, receivers, each=EVENTS_EACH)
        begun = time.time()
        background.on_commit("webhooks.drain")
        owing.wait(lambda: len(receivers.got()) >= (AGENTS - dead) * EVENTS_EACH)
        return max(at for _, at in receivers.got()) - begun


# A killed worker.


def _crash(agents: list[Agent]) -> list[Figure]:
    with owing.receivers(AGENTS, delay_ms=100) as receivers:
        owed, in_flight, killed = _until_killed(agents, receivers)
        with owing.worker():
            owing.wait(owing.all_done)
            seconds = time.time() - killed
        got = Counter(event for event, _ in receivers.got())
    lost = len(owed - got.keys())
    repeated = {event for event, times in got.items() if times > 1}
    against = (
        f"no baseline; kill -9 after {BEFORE_THE_KILL} of {len(owed):,} deliveries with {len(in_flight)} in flight, "
        f"another worker at once, leases of 30 s; {len(repeated)} came twice with the same id"
    )
    limit = DONE_AFTER_KILL_SECONDS
    return [
        Figure(
            "Webhooks: killed worker, all delivered after", seconds, "s", f"< {limit:.0f} s", seconds < limit, against
        ),
        Figure("Webhooks: killed worker, events lost", lost, "", "0", lost == 0, "the same run"),
        Figure(
            "Webhooks: killed worker, repeated but not in flight",
            len(repeated - in_flight),
            "",
            "0",
            not repeated - in_flight,
            "the same run",
        ),
    ]


def _until_killed(agents: list[Agent], receivers: owing.Receivers) -> tuple[set[str], set[str], float]:
    """The event ids that were due, those under way when the worker was killed, and the time of the kill."""
    with owing.worker() as worker:
        owed = owing.owe(agents, receivers, each=EVENTS_EACH)
        background.on_commit("webhooks.drain")
        owing.wait(lambda: len(receivers.got()) >= BEFORE_THE_KILL)
        os.kill(worker.pid, signal.SIGKILL)
        killed = time.time()
        return owed, set(Delivery.objects.exclude(lease_until=None).values_list("pk", flat=True)), killed
