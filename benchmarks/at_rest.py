"""What `make run` takes while nobody uses it and no pod runs: `python -m benchmarks.at_rest`, as root.

Prints a table for docs/reference/performance.md: each program's memory (PSS, so shared memory counts once), its CPU
over a minute, and the reason for it. Exits with 1 if a goal is missed. Others than root cannot read the shared memory
of PostgreSQL, which then counts in full for each of its processes.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from agents.runtimes.local import measure as memory
from benchmarks import whole_service
from benchmarks.__main__ import machine

SETTLE_SECONDS = 60.0
REST_SECONDS = 60.0
MEGABYTES, CPU_PERCENT = 600.0, 2.0
MB = 1_000_000
SUPERVISOR = "make run"
REASONS = {
    SUPERVISOR: "starts all others, starts again what ends, prints problems",
    "postgres": "all data",
    "redis": "the queue of tasks, and counters that may be lost",
    "web": "API, pages, console: one process answers, one holds the port and starts it again",
    "router": "brings visitors of agents' own addresses to their pods",
    "worker": "the life of agents and payments, each second what is due; and what pods' programs are forks of",
    "worker-webhooks": "events to receivers, and mails while removals fill the other worker",
    "beat": "sends the periodic tasks",
    "backups": "the endpoint to which pods write their backups",
}
_SPAWNED = re.compile(r"spawned: '(.+?)' with pid (\d+)")


@dataclass(frozen=True, slots=True)
class Resting:
    """What one program with its children takes at rest."""

    program: str
    processes: int
    megabytes: float
    cpu: float  # percent of a core


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="agentpods-bench-") as directory:
        root = Path(directory)
        root.chmod(0o711)  # PostgreSQL's user must pass through
        with whole_service.running(root / "home") as service:
            time.sleep(SETTLE_SECONDS)
            found = measured(service.pid, service.home / "logs" / "supervisord.log")
    print(f"{machine()}\n\n{table(found)}")
    return int(sum(one.megabytes for one in found) > MEGABYTES or sum(one.cpu for one in found) > CPU_PERCENT)


def measured(supervisor: int, log: Path) -> list[Resting]:
    trees = {SUPERVISOR: [psutil.Process(supervisor)], **_trees(log)}
    before, begun = _cpu_seconds(trees), time.monotonic()
    time.sleep(REST_SECONDS)
    after, lasted = _cpu_seconds(trees), time.monotonic() - begun
    return [
        Resting(
            name,
            len(tree),
            memory.memory_of(process.pid for process in tree) / MB,
            (after[name] - before[name]) / lasted * 100,
        )
        for name, tree in trees.items()
    ]


def _trees(log: Path) -> dict[str, list[psutil.Process]]:
    """Each program that runs, with its children, by what the supervisor has written into its log."""
    pids = {name: int(pid) for name, pid in _SPAWNED.findall(log.read_text())}
    alive = {name: psutil.Process(pid) for name, pid in pids.items() if psutil.pid_exists(pid)}
    return {name: [process, *process.children(recursive=True)] for name, process in alive.items()}


def _cpu_seconds(trees: Mapping[str, list[psutil.Process]]) -> dict[str, float]:
    return {name: sum(_seconds(process) for process in tree) for name, tree in trees.items()}


def _seconds(process: psutil.Process) -> float:
    """CPU seconds of this process, and of its children that have ended."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def table(found: list[Resting]) -> str:
    """The rows as Markdown, with the sum and the goals."""
    lines = ["| program | processes | memory | CPU, of one core | why it is there |", "|---|---|---|---|---|"]
    lines += [
        _row(one.program, one.processes, one.megabytes, one.cpu, REASONS.get(one.program, ""))
        for one in sorted(found, key=lambda one: -one.megabytes)
    ]
    processes, megabytes, cpu = (sum(getattr(one, name) for one in found) for name in ("processes", "megabytes", "cpu"))
    goals = f"goals: {MEGABYTES:.0f} MB and {CPU_PERCENT:.0f} %"
    return "\n".join([*lines, _row("together", processes, megabytes, cpu, goals)])


def _row(name: str, processes: int, megabytes: float, cpu: float, words: str) -> str:
    return f"| {name} | {processes} | {megabytes:.0f} MB | {cpu:.2f} % | {words} |"


if __name__ == "__main__":
    sys.exit(main())
