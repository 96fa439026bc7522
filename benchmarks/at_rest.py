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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from agents.runtimes.local import measure as memory
from benchmarks import whole_service
from benchmarks.__main__ import machine
from benchmarks.whole_service import WholeService

SETTLE_SECONDS = 60.0
REST_SECONDS = 60.0
MEGABYTES, CPU_PERCENT = 600.0, 2.0
MB = 1_000_000
Trees = Mapping[str, Sequence[psutil.Process]]  # by the name of the program: it and its children
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
            found = measured(trees(service))
    print(f"{machine()}\n\n{table(found)}")
    return int(sum(one.megabytes for one in found) > MEGABYTES or sum(one.cpu for one in found) > CPU_PERCENT)


def trees(service: WholeService) -> Trees:
    """Each program that runs, with its children, by what the supervisor has written into its log."""
    log = (service.home / "logs" / "supervisord.log").read_text()
    pids = {name: int(pid) for name, pid in _SPAWNED.findall(log)}
    alive = {name: psutil.Process(pid) for name, pid in pids.items() if psutil.pid_exists(pid)}
    programs = {name: [process, *process.children(recursive=True)] for name, process in alive.items()}
    return {SUPERVISOR: [psutil.Process(service.pid)], **programs}


def measured(found: Trees) -> list[Resting]:
    before, begun = _cpu_seconds(found), time.monotonic()
    time.sleep(REST_SECONDS)
    after, lasted = _cpu_seconds(found), time.monotonic() - begun
    return [
        Resting(
            name,
            len(tree),
            memory.memory_of(process.pid for process in tree) / MB,
            (after[name] - before[name]) / lasted * 100,
        )
        for name, tree in found.items()
    ]


def _cpu_seconds(found: Trees) -> dict[str, float]:
    return {name: sum(_seconds(process) for process in tree) for name, tree in found.items()}


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
