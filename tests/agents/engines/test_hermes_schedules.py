"""Schedules of a real hermes whose pod was down or ended: a missed run is caught up, once."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from tests.agents.engines.conftest import EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import Mood

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes"], indirect=True)]
ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
SCHEDULES = pytest.mark.parametrize("schedule", ["every 2h", "30m"], ids=["again and again", "once"])
TASK = "Water the plants on deck."
WITHIN = 120


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


def set_up(pod: EnginePod, when: str) -> None:
    """A person asks for the task, and the model sets it up."""
    pod.start(toolsets=["cronjob"])
    task = {"action": "create", "schedule": when, "prompt": TASK, "name": "plants", "deliver": "local"}
    pod.model.tool_calls = [ToolCall("cronjob", task)]
    assert pod.say("water them, please") == "pong"
    assert [job["name"] for job in jobs(pod)] == ["plants"]


def jobs(pod: EnginePod) -> list[dict[str, Any]]:
    known: list[dict[str, Any]] = json.loads((pod.data / "hermes" / "cron" / "jobs.json").read_text())["jobs"]
    return known


def change(pod: EnginePod, set_to: Callable[[dict[str, Any]], None]) -> None:
    """Change all jobs in hermes' file, while the pod is down."""
    file = pod.data / "hermes" / "cron" / "jobs.json"
    kept = json.loads(file.read_text())
    for job in kept["jobs"]:
        set_to(job)
    file.write_text(json.dumps(kept))


def due(job: dict[str, Any], *, hours_ago: float = 1.0) -> None:
    at = (datetime.now(UTC) - timedelta(hours=hours_ago)).isoformat()
    job["next_run_at"] = at
    if job["schedule"]["kind"] == "once":
        job["schedule"]["run_at"] = at


def runs(pod: EnginePod) -> int:
    """How often the schedule, and not a person, asked the model to do the task."""
    return sum(TASK in str(seen.said[-1][1]) for seen in pod.model.turns())


def await_run(pod: EnginePod, number: int) -> None:
    eventually(lambda: runs(pod) >= number, within=WITHIN, what=f"run {number}")


def settled(pod: EnginePod, number: int) -> int:
    """The number of runs, after this many runs and one more pause of hermes between two looks at its schedules."""
    await_run(pod, number)
    time.sleep(65)
    return runs(pod)


@SCHEDULES
def test_a_run_that_was_due_while_the_pod_was_down_is_caught_up_once(pod: EnginePod, schedule: str) -> None:
    set_up(pod, schedule)
    pod.runtime.stop(pod.namespace)
    eventually(lambda: not pod.engine_processes(), what="the end")
    change(pod, lambda job: due(job, hours_ago=7))
    pod.start()
    assert settled(pod, 1) == 1


@ENDS
@SCHEDULES
def test_a_run_that_the_engines_end_cuts_off_is_begun_once_more(
    pod: EnginePod, schedule: str, end: signal.Signals
) -> None:
    set_up(pod, schedule)
    pod.runtime.stop(pod.namespace)
    eventually(lambda: not pod.engine_processes(), what="the end")
    change(pod, due)
    pod.model.mood = Mood.HANGING
    pod.start()
    eventually(lambda: runs(pod) == 1, within=WITHIN, what="the hanging run")
    pod.model.mood = Mood.FINE
    pod.signal_engine(end)
    assert settled(pod, 2) == 2
    outputs = list((pod.data / "hermes" / "cron" / "output").rglob("*.md"))
    assert sum("pong" in output.read_text() for output in outputs) == 1


def test_a_run_that_ends_the_engine_each_time_is_given_up_and_reported(pod: EnginePod) -> None:
    set_up(pod, "every 2h")
    pod.runtime.stop(pod.namespace)
    eventually(lambda: not pod.engine_processes(), what="the end")
    change(pod, due)
    pod.model.mood = Mood.HANGING
    pod.start()
    for number in (1, 2, 3):
        await_run(pod, number)
        pod.signal_engine(signal.SIGKILL)
        eventually(lambda: not pod.engine_processes(), what="the end")
    eventually(lambda: jobs(pod)[0]["last_status"] == "error", within=WITHIN, what="the report")
    assert "ended in the middle of each of its runs" in jobs(pod)[0]["last_error"]
    assert runs(pod) == 3
