"""A minute in which nobody asks for anything and nothing is hosted: memory and CPU of all that `make run` starts, and
of JupyterHub as its quickstart runs it. Both rest in the same minute: neither takes anything from the other.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil

from agents.runtimes.local.measure import memory_of
from benchmarks import processes
from benchmarks.peers import hub
from benchmarks.peers.reads import OURS
from benchmarks.peers.rows import PeerFigure
from benchmarks.processes import Program
from benchmarks.second_start import GIVE_UP_SECONDS, free_port, wait_for

WHAT = "at rest, nothing hosted"
REST_SECONDS = 60.0
GIVEN = ("DATABASE_URL", "REDIS_URL")  # without them, `make run` brings its own
NAME = "SUPERVISOR_PROCESS_NAME"  # the supervisor gives its programs their names, and stores run without them
STORES = {"postgres": "PostgreSQL", "redis-server": "Redis"}
MB = 1_000_000

Kinds = dict[str, list[psutil.Process]]


def measure() -> list[PeerFigure]:
    with service() as ours, hub.running() as theirs:
        roots = {OURS: psutil.Process(ours), hub.WHO: psutil.Process(theirs.program.pid)}
        processes.wait_until_calm([Program(ours), theirs.program])
        kinds = {OURS: _ours(roots[OURS]), hub.WHO: _theirs(roots[hub.WHO])}
        before = {who: _seconds(found) for who, found in kinds.items()}
        begun = time.monotonic()
        time.sleep(REST_SECONDS)
        lasted = time.monotonic() - begun
        return [
            figure
            for who, found in kinds.items()
            for figure in figures(who, _share(before[who], _seconds(found), lasted), _megabytes(found))
        ]


def figures(who: str, cpu: Mapping[str, float], megabytes: Mapping[str, float]) -> list[PeerFigure]:
    """All together, and then each program, the largest first."""
    together = PeerFigure(what=WHAT, who=who, at_rest=sum(cpu.values()), megabytes=sum(megabytes.values()))
    largest_first = sorted(megabytes, key=lambda name: -megabytes[name])
    return [
        together,
        *(
            PeerFigure(what=WHAT, who=f"– {name}", at_rest=cpu[name], megabytes=megabytes[name])
            for name in largest_first
        ),
    ]


@contextmanager
def service() -> Iterator[int]:
    """`make run` with a home of its own. Gives the process of which all its programs are children."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="agentpods-rest-") as home:
        own = {"AGENTPODS_HOME": home, "PORT": str(port), "ROUTER_PORT": str(free_port())}
        environment = {name: value for name, value in os.environ.items() if name not in GIVEN} | own
        command = [sys.executable, "-m", "config.run"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(f"http://127.0.0.1:{port}/health", until=time.monotonic() + GIVE_UP_SECONDS)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _ours(root: psutil.Process) -> Kinds:
    kinds: Kinds = {"supervisor": [root]}
    for process in root.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            name = process.environ().get(NAME) or STORES.get(process.name(), "supervisor")
            kinds.setdefault(name, []).append(process)
    return kinds


def _theirs(root: psutil.Process) -> Kinds:
    return {"hub": [root], "proxy": root.children(recursive=True)}


def _megabytes(kinds: Kinds) -> dict[str, float]:
    return {name: memory_of(process.pid for process in those) / MB for name, those in kinds.items()}


def _seconds(kinds: Kinds) -> dict[str, float]:
    return {name: sum(processes.cpu_of(process) for process in those) for name, those in kinds.items()}


def _share(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Percent of a core."""
    return {name: (after[name] - before[name]) / seconds * 100 for name in before}
