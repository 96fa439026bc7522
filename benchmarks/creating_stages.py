"""Where the milliseconds between `POST /agents` and `running` go, by the times that the service itself leaves behind.

These are the agent's row, its timeline, the record and the reports of its pod, and the start times of its processes.
The kernel counts start times in hundredths of a second.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psutil
from django.conf import settings

from agents.models import Agent, Status, Transition
from agents.runtimes.local import programs
from agents.runtimes.local.home import Home
from agents.runtimes.local.programs import PodProgram
from benchmarks.figures import Figure

# A stage ends with the moment of this name and begins with the one before.
STAGES = {
    "created": "the request is read and checked",
    "deployed": "the row is stored, the task goes through the queue, a worker takes the agent",
    "bridge": "ports, tokens, the gateway and the bridge are started",
    "engine": "the bridge prepares the directory and starts the engine",
    "ready": "the engine starts and answers with its model",
    "noticed": "the worker hears of it, the task goes through the queue, the worker looks",
    "seen": "the state is stored and the client has the answer",
}


@dataclass(frozen=True, slots=True)
class Created:
    """An agent that runs: when its owner asked for it and saw it run, and the moments between (seconds since 1970)."""

    agent_id: str
    sent: float
    seen: float
    moments: dict[str, float]

    def stages(self) -> dict[str, float]:
        """Seconds of each stage. The kernel's start times are coarse, so a short stage may come out below zero."""
        at = {**self.moments, "seen": self.seen}
        begins = [self.sent, *(at[name] for name in STAGES)]
        return {name: at[name] - begun for name, begun in zip(STAGES, begins, strict=False)}


def moments(agent_id: str) -> dict[str, float]:
    """The moments of an agent that has just begun to run."""
    agent = Agent.objects.get(pk=agent_id)
    home = Home(settings.AGENTPODS_HOME)
    record, run_dir = home.record(agent.namespace), home.run_dir(agent.namespace)
    state = json.loads((run_dir / programs.REPORTS[PodProgram.BRIDGE]).read_text())
    found = programs.find(home.root)
    running = Transition.objects.get(agent=agent, to_status=Status.RUNNING)
    if record is None:
        raise RuntimeError(f"{agent.namespace} has no record")
    return {
        "created": agent.created_at.timestamp(),
        "deployed": record.asked_at,
        "bridge": _begun(found[agent.namespace, PodProgram.BRIDGE].pid),
        "engine": _begun(state["enginePid"]),
        "ready": datetime.fromisoformat(state["since"]).timestamp(),
        "noticed": running.at.timestamp(),
    }


def _begun(pid: int) -> float:
    """When the process was started. psutil's time is up to a second off, because it counts from a whole second."""
    since_boot = psutil.Process(pid).create_time() - psutil.boot_time()
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot


def figures(of: str, created: Sequence[Created]) -> list[Figure]:
    """The median of each stage in milliseconds."""
    stages = [one.stages() for one in created]
    return [
        Figure(f"{name} ({of})", statistics.median(each[name] for each in stages) * 1000, "ms", "", None, told)
        for name, told in STAGES.items()
    ]
