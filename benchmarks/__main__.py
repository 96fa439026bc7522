"""`make bench`, or `python -m benchmarks [G7 …]`: runs all or the named benchmarks one after another and prints one
table.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil

from benchmarks import stores
from benchmarks.figures import Figure, table
from benchmarks.measuring import HOW, ROUNDS

PARTS = {
    "G1": "reads",
    "G2": "reads",
    "G3": "reads",
    "G4": "catalog",
    "G5": "create",
    "G6": "last_used",
    "G7": "quota",
    "G8": "due_scan",
    "G9": "celery_hop",
    "CREATING": "creating",
    "BURST": "burst",
    "SCAN": "chain_scan",
    "COMMUNITY": "community",
    "CONSOLE": "console",
    "SEARCH": "community",
    "PAGES": "pages",
    "WEBHOOKS": "webhooks",
    "CHATS": "chats",
    "STREAMS": "event_streams",
    "IDLE": "idle_pods",
}


def main(asked: list[str]) -> int:
    if unknown := set(asked) - set(PARTS):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    modules = dict.fromkeys(PARTS[name] for name in asked or PARTS if find_spec(f"benchmarks.{PARTS[name]}"))
    with stores.running() as mine:
        mine.prepare()
        figures = [figure for module in modules for figure in _measured(module, mine)]
    print(f"\n{circumstances()}\n\n{table(figures)}")
    return int(any(figure.ok is False for figure in figures))


def _measured(module: str, mine: stores.BenchmarkStores) -> list[Figure]:
    begun = time.monotonic()
    print(f"{module} …", file=sys.stderr, flush=True)
    with mine.database(f"bench_{module}") as database:
        command = [sys.executable, "-m", "benchmarks.part", module]
        done = subprocess.run(command, env=mine.environment(database), stdout=subprocess.PIPE, check=False)
    if done.returncode:
        return [Figure(module, float("nan"), "", "ends well", False, "the benchmark itself failed, see above")]
    print(f"{module}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return [Figure(**figure) for figure in json.loads(done.stdout.splitlines()[-1])]


def circumstances() -> str:
    """The facts about the machine and the method that a reader needs."""
    return (
        f"{machine()}.\n"
        f"Every baseline was measured in turns with ours in this run; figures are medians of {ROUNDS} rounds or more.\n"
        f"{HOW}; embedded PostgreSQL and Redis with the settings of `make run`, fsync on."
    )


def machine() -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    memory = psutil.virtual_memory().total // 2**30
    return f"{os.cpu_count()} cores ({_processor()}), {memory} GiB, load {load}, Python {platform.python_version()}"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if sys.platform == "linux" else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
