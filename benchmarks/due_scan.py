"""G8: every scan for due work among a million agents with nothing due, and a scan that finds a thousand.

SQL makes the rows: 1,000 agents run with their pods, a tenth is stopped and due tomorrow, the rest is stopped or
deleted; 100,000 deliveries are delivered. The times are of the product's own functions, including Django's cursor.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import psutil
import psycopg
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import code_mail
from accounts import purge as accounts_purge
from agents import suspension
from agents.models import Agent
from agents.running import drift, leases, pods, reconciler, sweeper
from agents.runtimes.base import Observation, Phase
from benchmarks import fleet
from benchmarks.figures import Figure, ratio
from benchmarks.measuring import in_turns
from benchmarks.recording import CALLS, RecordingRuntime
from billing import dunning, verification
from billing.providers.stars import orders as stars_orders
from billing.providers.stars import refunds
from webhooks import outbox, purging

FEW, MANY, PODS, DUE = 10_000, 1_000_000, 1_000, 1_000
CALLS_A_ROUND = 300
ROUNDS = 31
WALL_LIMIT, BUFFERS_LIMIT, GROWTH_LIMIT, RSS_LIMIT_MB = 5.0, 10, 1.5, 20

_EVENTS = """
INSERT INTO webhooks_event (id, agent_id, type, body, created_at)
SELECT 'evt_' || lpad(to_hex(i), 32, '0'), 'agt_' || lpad(to_hex(i), 24, '0'), 'agent.running', '{}', now()
FROM generate_series(1, 100000) i
"""
_DELIVERIES = """
INSERT INTO webhooks_delivery (event_id, agent_id, state, is_test, attempts, claims, next_attempt_at, lease_token,
    error, created_at, finished_at, resent_by)
SELECT id, agent_id, 'delivered', false, 1, 1, created_at, '', '', created_at, created_at, '' FROM webhooks_event
"""

Scan = Callable[[], object]

# The periodic scans of beat. The first three run at least every ten seconds, so their time is measured too.
QUICK: dict[str, Scan] = {
    "agents.reconcile_due": lambda: leases.due(timezone.now(), limit=reconciler.BATCH),
    "webhooks.drain": outbox.soonest,
    "billing.step_due": lambda: dunning.due(timezone.now(), limit=dunning.BATCH),
}
SCANS: dict[str, Scan] = {
    **QUICK,
    "agents.enforce_suspensions": suspension.enforce,
    "agents.sweep": lambda: sweeper.wake_forgotten(timezone.now()),
    "webhooks.purge": lambda: purging.purge(now=timezone.now()),
    "accounts.send_codes": lambda: code_mail.send_due(now=timezone.now()),
    "accounts.purge": lambda: accounts_purge.run(now=timezone.now()),
    "billing.verify_due": verification.verify_due,
    "billing.expire_stars_orders": lambda: stars_orders.expire_due(now=timezone.now()),
    "billing.send_back_stars": refunds.send_due,
}


def measure() -> list[Figure]:
    settings.AGENT_RUNTIME = "benchmarks.recording.RecordingRuntime"
    os.environ[CALLS] = os.devnull
    fleet.fill(range(1, FEW + 1), **_columns())
    # The row from which the fleet was copied is a new agent, so it is due.
    just_made = Agent.objects.filter(reconcile_at__lte=timezone.now())
    just_made.update(status="stopped", desired="stopped", reconcile_at=None)
    fleet.analyse()
    few = {name: _against_select_1(scan) for name, scan in QUICK.items()}
    _grow()
    many = {name: _against_select_1(scan) for name, scan in QUICK.items()}
    slowest = max(many, key=lambda name: many[name][0])
    growth = {name: many[name][0] / few[name][0] for name in QUICK}
    return [_wall(slowest, many), _growth(growth), _buffers(), _memory(), *_terms(), _comparison()]


def _columns() -> dict[str, str]:
    running, due = f"i <= {PODS}", "i %% 10 = 0"
    state = f"CASE WHEN {running} THEN 'running' WHEN {due} OR i %% 3 > 0 THEN 'stopped' ELSE 'deleted' END"
    tomorrow = f"CASE WHEN NOT {running} AND {due} THEN now() + interval '1 day' END"
    return {"status": state, "desired": state, "reconcile_at": tomorrow, "term_due_at": "now() + interval '1 day'"}


def _grow() -> None:
    fleet.fill(range(FEW + 1, MANY + 1), **_columns())
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(_EVENTS)
        cursor.execute(_DELIVERIES)
        cursor.execute("RESET session_replication_role")
    fleet.analyse()


def _against_select_1(scan: Scan) -> tuple[float, float, float]:
    """The median ratio of the scan to psycopg's `select 1`, and both medians in seconds.

    `select 1` runs on its own connection and is prepared, as ours are.
    """
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=3) as plain:
        connection.ensure_connection()
        with _on_one_cpu(plain.info.backend_pid, connection.connection.info.backend_pid):
            ours, theirs = in_turns(
                lambda: _seconds(scan), lambda: _seconds(lambda: plain.execute("select 1").fetchone()), rounds=ROUNDS
            )
    return ratio(ours, theirs), statistics.median(ours), statistics.median(theirs)


@contextmanager
def _on_one_cpu(*pids: int) -> Iterator[None]:
    """Run both server processes on the CPU of this process: the kernel's choice of CPUs alone makes
    a factor of four.
    """
    together = [psutil.Process(pid) for pid in (os.getpid(), *pids)] if sys.platform == "linux" else []
    before = [process.cpu_affinity() for process in together]
    try:
        for process in together:
            process.cpu_affinity([min(before[0])])
        yield
    finally:
        for process, cpus in zip(together, before, strict=True):
            process.cpu_affinity(cpus)


def _seconds(act: Scan) -> float:
    """The median seconds of many calls: a single call is too short to measure."""
    times = []
    for _ in range(CALLS_A_ROUND):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _wall(slowest: str, many: dict[str, tuple[float, float, float]]) -> Figure:
    value, ours, theirs = many[slowest]
    others = ", ".join(f"{name} {times[0]:.1f} x" for name, times in many.items() if name != slowest)
    against = (
        f"psycopg's prepared `select 1`; the slower scan, {slowest}: {ours * 1e6:.0f} us against "
        f"{theirs * 1e6:.0f} us; {others}"
    )
    name = f"G8 idle scan among {MANY:,} agents, wall"
    return Figure(name, value, "x", f"<= {WALL_LIMIT:.0f} x", value <= WALL_LIMIT, against)


def _growth(growth: dict[str, float]) -> Figure:
    worst = max(growth.values())
    against = f"the same scans among {FEW:,} agents, each as a multiple of `select 1` at that time"
    return Figure("G8 its time as a multiple of few agents'", worst, "x", "<= 1.5 x", worst <= GROWTH_LIMIT, against)


def _buffers() -> Figure:
    """The most buffers that any statement of a scan touches when the scan finds nothing."""
    touched = {name: max(map(_buffers_of, _statements_of(scan)), default=0) for name, scan in SCANS.items()}
    worst = max(touched.values())
    against = f"no baseline; EXPLAIN of what each scan asks: {', '.join(f'{n} {b}' for n, b in touched.items())}"
    return Figure("G8 buffers of an idle scan's statement", worst, "", "<= 10", worst <= BUFFERS_LIMIT, against)


def _statements_of(scan: Scan) -> list[str]:
    scan()
    with CaptureQueriesContext(connection) as queries:
        scan()
    texts = [query["sql"] for query in queries]
    return [text for text in texts if text.lstrip().split(None, 1)[0].upper() in {"SELECT", "UPDATE", "DELETE", "WITH"}]


def _buffers_of(statement: str) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.replace('%', '%%')}", [])
        plan = cursor.fetchone()[0][0]["Plan"]
        transaction.set_rollback(True)
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _memory() -> Figure:
    """The growth of this process's memory while it steps a thousand due agents, in as many scans as that needs."""
    _show_pods()
    reconciler.reconcile_due()
    rss = psutil.Process().memory_info().rss
    chosen = list(Agent.objects.filter(status="stopped").values_list("pk", flat=True)[:DUE])
    Agent.objects.filter(pk__in=chosen).update(reconcile_at=timezone.now() - timedelta(seconds=1))
    stepped = 0
    while due := reconciler.reconcile_due():
        stepped += due
    grown = max(0.0, (psutil.Process().memory_info().rss - rss) / 2**20)
    note = f"no baseline; {stepped:,} agents stepped"
    ok = grown <= RSS_LIMIT_MB and stepped >= DUE
    return Figure(f"G8 RSS growth with {DUE:,} due", grown, "MB", f"<= {RSS_LIMIT_MB} MB", ok, note)


def _terms() -> list[Figure]:
    """Billing's sweep with a thousand due terms among the million: finding them, and taking their steps."""
    chosen = list(Agent.objects.filter(status="stopped", term_due_at__isnull=False).values_list("pk", flat=True)[:DUE])
    Agent.objects.filter(pk__in=chosen).update(term_due_at=timezone.now() - timedelta(seconds=1))
    fleet.analyse()
    value, ours, theirs = _against_select_1(lambda: dunning.due(timezone.now(), limit=dunning.BATCH))
    against = f"psycopg's prepared `select 1`; {dunning.BATCH} ids, {ours * 1e6:.0f} us against {theirs * 1e6:.0f} us"
    found = Figure(f"G8 billing's scan with {DUE:,} terms due", value, "x", "none", None, against)
    rss, stepped, begun = psutil.Process().memory_info().rss, 0, time.perf_counter()
    while due := dunning.step_due(now=timezone.now()):
        stepped += due
    each = (time.perf_counter() - begun) / max(stepped, 1)
    grown = max(0.0, (psutil.Process().memory_info().rss - rss) / 2**20)
    note = f"no baseline; {stepped:,} steps taken, {each * 1e3:.1f} ms each"
    ok = grown <= RSS_LIMIT_MB and stepped >= DUE
    return [found, Figure(f"G8 RSS growth with {DUE:,} terms due", grown, "MB", f"<= {RSS_LIMIT_MB} MB", ok, note)]


def _show_pods() -> None:
    for number in range(1, PODS + 1):
        name = f"pod-{number:024x}-1"
        RecordingRuntime.pods[name] = Observation(
            namespace=name,
            phase=Phase.READY,
            gateway_alive=True,
            revision=1,
            restarts=0,
            cause=None,
            message=None,
            evidence=[],
            since=None,
        )


def _comparison() -> Figure:
    """Not a scan for due work: each second, one statement compares the runtime's pods with the pods that should run."""
    healthy = [pods.suffix_of(name) for name in RecordingRuntime.pods]
    value, ours, theirs = _against_select_1(lambda: drift.mark(healthy, now=timezone.now()))
    against = (
        f"psycopg's prepared `select 1`; {ours * 1e3:.1f} ms against {theirs * 1e3:.2f} ms, grows with the pods alone"
    )
    return Figure(f"Comparing {PODS:,} pods with their rows, each second", value, "x", "none", None, against)
