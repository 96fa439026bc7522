"""300 creates at once, three from each of 100 accounts: web, worker and beat of `make run`, with a recording runtime.

Measures the time from the 200 of a create to the call of the runtime. The baseline does the least that is durable: one
INSERT, one Celery task, one SELECT, with the same server and the same kind of worker.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from benchmarks import customers, load, processes
from benchmarks.baseline.burst import QUEUE, TABLE
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import in_turns
from benchmarks.processes import Program
from benchmarks.recording import CALLS

ACCOUNTS = 100
EACH = 3  # MAX_FREE_AGENTS
CREATES = ACCOUNTS * EACH
P95_LIMIT_SECONDS = 1.0
GIVE_UP_SECONDS = 60.0
REST_SECONDS = 3.0
WANTED = json.dumps({"personaId": "exam-coach", "tier": "small"}).encode()


@dataclass(frozen=True, slots=True)
class Burst:
    waits: list[float]  # seconds from each 200 to the runtime's call
    statuses: Counter[int]
    calls: Counter[str]
    accepting: float  # seconds until the last 200

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.waits, n=20)[-1]


def measure() -> list[Figure]:
    calls = Path(os.environ["AGENTPODS_HOME"], "calls")
    calls.touch()
    with connection.cursor() as cursor:
        cursor.execute(TABLE)
    environment = {CALLS: str(calls), "AGENT_RUNTIME": "benchmarks.recording.RecordingRuntime"}
    with ExitStack() as stack:
        product = stack.enter_context(processes.web(**environment))
        baseline = stack.enter_context(processes.web("benchmarks.baseline.settings", **environment))
        stack.enter_context(processes.worker("lifecycle,billing,default", **environment))
        stack.enter_context(processes.worker(QUEUE, "-I", "benchmarks.baseline.burst", **environment))
        stack.enter_context(processes.beat(**environment))
        ours, theirs = in_turns(lambda: _burst(product, "/agents", calls), lambda: _burst(baseline, "/burst", calls))
    return [_quickness(ours, theirs), _duplicates(ours), _errors(ours)]


def _burst(server: Program, path: str, calls: Path) -> Burst:
    """Send all requests at once, wait for the runtime's call for each agent, and let the rest of the work finish."""
    buyers = customers.some(ACCOUNTS)
    requests = [load.post(path, WANTED, Authorization=buyer.bearer) for buyer in buyers] * EACH
    begin = calls.stat().st_size
    answers = load.run(server.port, requests, connections=CREATES).answers
    accepted = {json.loads(answer.body)["agent"]["id"]: answer.at for answer in answers if answer.status == 200}
    called = _calls(calls, begin, accepted.keys())
    first = {agent_id: min(times) for agent_id, times in called.items()}
    return Burst(
        waits=[max(0.0, first[agent_id] - at) for agent_id, at in accepted.items()],
        statuses=Counter(answer.status for answer in answers),
        calls=Counter({agent_id: len(times) for agent_id, times in called.items()}),
        accepting=max(answer.seconds for answer in answers),
    )


def _calls(file: Path, begin: int, expected: Collection[str]) -> dict[str, list[float]]:
    """When the runtime was asked to deploy each agent. Waits until all were, and then a while for duplicates."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while len(_deployed(file, begin)) < len(expected):
        if time.monotonic() > deadline:
            raise RuntimeError("agents that the runtime was never called for")
        time.sleep(0.2)
    time.sleep(REST_SECONDS)
    return _deployed(file, begin)


def _deployed(file: Path, begin: int) -> dict[str, list[float]]:
    with file.open() as lines:
        lines.seek(begin)
        found: dict[str, list[float]] = {}
        for line in lines:
            call, subject, at = line.split()
            if call == "deploy":
                found.setdefault(subject, []).append(float(at))
    return found


def _quickness(ours: list[Burst], theirs: list[Burst]) -> Figure:
    p95 = statistics.median(burst.p95 for burst in ours)
    own, others = [burst.p95 for burst in ours], [burst.p95 for burst in theirs]
    accepting = [statistics.median(burst.accepting for burst in bursts) for bursts in (ours, theirs)]
    against = (
        f"{ratio(own, others):.1f} x one INSERT, one Celery task, one SELECT ({statistics.median(others):.2f} s); "
        f"rounds {', '.join(f'{value:.2f}' for value in own)} s; "
        f"all accepted after {accepting[0]:.1f} s against {accepting[1]:.1f} s"
    )
    goal = f"<= {P95_LIMIT_SECONDS:.0f} s"
    return Figure(f"Burst of {CREATES} creates: accept to call, p95", p95, "s", goal, p95 <= P95_LIMIT_SECONDS, against)


def _duplicates(ours: list[Burst]) -> Figure:
    again = sum(count - 1 for burst in ours for count in burst.calls.values())
    return Figure("Burst: agents deployed twice", again, "", "0", again == 0, f"no baseline; {len(ours)} bursts")


def _errors(ours: list[Burst]) -> Figure:
    errors = sum(count for burst in ours for status, count in burst.statuses.items() if status != 200)
    seen = sum((burst.statuses for burst in ours), Counter[int]())
    return Figure("Burst: answers other than 200", errors, "", "0", errors == 0, f"no baseline; {dict(seen)}")
