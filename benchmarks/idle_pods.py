"""IDLE: memory and CPU of the gateway and bridge of pods that nobody talks to, at 15 and at 100 pods of this machine.

Workers and beat deploy the pods as `make run` does. The engine is the double of pi, because the engine's own processes
are not in these figures. The process of which gateways and bridges are copies is: each pod has its share of it. Run it
as root: nobody else may read how much memory these programs share.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
from django.conf import settings
from django.test.utils import override_settings

from agents import creation
from agents.models import Agent, Status
from agents.runtimes.local import measure as memory
from agents.runtimes.local import programs, template
from benchmarks import customers, processes
from benchmarks.figures import Figure
from tests.doubles.pi import install_double

PODS = (15, 100)
SETTLE_SECONDS = 20.0
REST_SECONDS = 60.0
SECONDS_PER_POD = 6.0  # after that, a pod does not start
PSS_LIMIT_MB, CPU_LIMIT = 45.0, 0.2
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Rest:
    """What one program of an average pod takes while nothing happens, or the pod's share of the template."""

    program: str
    megabytes: float
    cpu: float  # percent of a core


def measure() -> list[Figure]:
    home = Path(os.environ["AGENTPODS_HOME"])
    environment = {"AGENT_RUNTIME": "local", "ENGINE_CACHE": str(install_double(home / "engines"))}
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small")
    figures: list[Figure] = []
    with ExitStack() as stack:
        stack.enter_context(override_settings(MAX_FREE_AGENTS=max(PODS), MAX_TRIALS=0))
        stack.callback(end_pods)
        service = {
            "worker with all pods": stack.enter_context(processes.worker("lifecycle,billing,default", **environment)),
            "beat": stack.enter_context(processes.beat(**environment)),
            "PostgreSQL": processes.postgres(),
        }
        owner = customers.one().user
        for pods in PODS:
            for _ in range(pods - Agent.objects.count()):
                creation.create(owner, wanted, actor="benchmark")
            _wait_for(pods)
            found, left = _rest(pods, service)
            figures += [*verdicts(pods, found), left]
    return figures


def verdicts(pods: int, found: Sequence[Rest]) -> list[Figure]:
    """A pod's memory and CPU against their goals, with the share of each program."""
    megabytes, cpu = sum(each.megabytes for each in found), sum(each.cpu for each in found)
    parts = [f"{each.program} {each.megabytes:.1f} MB and {each.cpu:.2f} %" for each in found]
    against = f"no baseline; {', '.join(parts)}; over {REST_SECONDS:.0f} s of rest, without the engine"
    return [
        Figure(
            f"{pods} idle pods: memory (PSS) of each", megabytes, "MB", "<= 45 MB", megabytes <= PSS_LIMIT_MB, against
        ),
        Figure(f"{pods} idle pods: CPU of each", cpu, "% of a core", "<= 0.2 %", cpu <= CPU_LIMIT, "the same run"),
    ]


def _wait_for(pods: int) -> None:
    deadline = time.monotonic() + pods * SECONDS_PER_POD + 60
    while (running := Agent.objects.filter(status=Status.RUNNING).count()) < pods:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {running} of {pods} pods run")
        time.sleep(0.5)


def _rest(pods: int, service: Mapping[str, processes.Program]) -> tuple[list[Rest], Figure]:
    """What each program takes, and what is left of the machine's cores beside all pods, their engines and `service`."""
    time.sleep(SETTLE_SECONDS)
    found = programs.find(settings.AGENTPODS_HOME)
    if len(found) != pods * len(programs.PodProgram):
        raise RuntimeError(
            f"{len(found)} programs of {pods} pods: a pod that is missing would be counted as a cheap one"
        )
    kinds: dict[str, list[psutil.Process]] = {"template": _templates(found)}
    for (_, program), process in found.items():
        kinds.setdefault(program, []).append(process)
    before, begun = _cpu_seconds(kinds, service), time.monotonic()
    time.sleep(REST_SECONDS)
    after, lasted = _cpu_seconds(kinds, service), time.monotonic() - begun
    cpu = {name: (after[name] - before[name]) / lasted * 100 for name in before}
    rests = [
        Rest(kind, memory.memory_of(process.pid for process in those) / MB / pods, cpu[kind] / pods)
        for kind, those in kinds.items()
    ]
    return rests, _left(pods, {name: cpu[name] for name in service})


def _left(pods: int, cpu: Mapping[str, float]) -> Figure:
    cores = os.cpu_count() or 1
    against = ", ".join(f"{name} {share:.1f} %" for name, share in cpu.items())
    left = 100 - sum(cpu.values()) / cores
    return Figure(f"{pods} idle pods: left of {cores} cores", left, "%", "", None, f"of a core: {against}")


def _cpu_seconds(
    kinds: Mapping[str, Sequence[psutil.Process]], service: Mapping[str, processes.Program]
) -> dict[str, float]:
    return {
        **{kind: sum(_seconds(process) for process in those) for kind, those in kinds.items()},
        **{name: program.cpu_seconds() for name, program in service.items()},
    }


def _seconds(process: psutil.Process) -> float:
    """CPU seconds of this process alone, so those of engines are not in them."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _templates(found: programs.Found) -> list[psutil.Process]:
    parents = {process.pid: process for program in found.values() if (process := program.parent())}
    return [process for process in parents.values() if template.MODULE in process.cmdline()]


def end_pods() -> None:
    """Pods end by themselves when the worker that supervises them has ended. This does not wait for that."""
    left = list(programs.find(settings.AGENTPODS_HOME).values())
    for process in left:
        process.terminate()
    for process in psutil.wait_procs(left, timeout=15)[1]:
        process.kill()
