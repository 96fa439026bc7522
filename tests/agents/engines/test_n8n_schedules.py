"""Schedules of an owner's workflows in n8n: a run that was due while the pod was down is caught up, once."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agents.runtimes.base import Phase
from agents.runtimes.local.programs import PodProgram
from tests.agents.engines.conftest import EnginePod
from tests.agents.engines.test_n8n_owner import start
from tests.agents.pod.bridge.process import eventually
from tests.doubles.web_page import WebPage

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["n8n"], indirect=True)]

AHEAD_SECONDS = 20  # time enough to publish the workflow and to stop the pod
QUIET_SECONDS = 8  # after this time, no missed run is caught up any more


@pytest.fixture
def page() -> Iterator[WebPage]:
    with WebPage("hello") as page:
        yield page


def daily(name: str, at: datetime, page: WebPage) -> dict[str, Any]:
    """A workflow that requests this page once a day, at this second."""
    rule = {"field": "cronExpression", "expression": f"{at.second} {at.minute} {at.hour} * * *"}
    return scheduled(name, "scheduleTrigger", 1.3, {"rule": {"interval": [rule]}}, page)


def scheduled(name: str, kind: str, version: float, parameters: dict[str, Any], page: WebPage) -> dict[str, Any]:
    trigger = {"name": "When", "type": f"n8n-nodes-base.{kind}", "typeVersion": version, "parameters": parameters}
    asks = {"name": "Ask", "type": "n8n-nodes-base.httpRequest", "typeVersion": 4.2}
    return {
        "name": name,
        "nodes": [
            {"id": f"{name}-when", "position": [0, 0], **trigger},
            {"id": f"{name}-ask", "position": [200, 0], **asks, "parameters": {"url": f"{page.url}?{name}"}},
        ],
        "connections": {"When": {"main": [[{"node": "Ask", "type": "main", "index": 0}]]}},
        "settings": {"executionOrder": "v1"},
    }


def soon() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=AHEAD_SECONDS)


def wait_for(moment: datetime) -> None:
    time.sleep(max((moment - datetime.now(UTC)).total_seconds() + 1, 0))


def stop(pod: EnginePod) -> None:
    pod.runtime.stop(pod.namespace)
    eventually(lambda: pod.seen().phase == Phase.STOPPED, within=25, what="the stop")


def kill(pod: EnginePod) -> None:
    """Kill all of the pod at once, as when its machine fails."""
    for process in [*pod.engine_processes(), *map(pod.program, PodProgram)]:
        process.send_signal(signal.SIGKILL)
    eventually(lambda: not pod.seen().gateway_alive, within=10, what="its end")


def runs(page: WebPage) -> list[str]:
    return [path.partition("?")[2] for path in page.asked]


def log_of(pod: EnginePod) -> str:
    directory = pod.home / "pods" / pod.namespace
    return "".join(path.read_text(errors="replace") for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("down", [stop, kill])
def test_a_run_that_was_due_while_the_pod_was_down_is_made_up_for_once(
    pod: EnginePod, page: WebPage, down: Any
) -> None:
    owner = start(pod, timezone="UTC")
    due = soon()
    owner.publish(daily("missed", due, page))
    owner.publish(daily("later", due + timedelta(hours=2), page))
    owner.publish(scheduled("old", "cron", 1, {"triggerTimes": {"item": [_cron(due)]}}, page))
    taken_away = owner.publish(daily("away", due, page))
    owner.done("POST", f"/rest/workflows/{taken_away}/deactivate")
    down(pod)
    assert datetime.now(UTC) < due, "it took too long to bring the pod down"
    wait_for(due)
    assert runs(page) == []
    start(pod, timezone="UTC")
    eventually(lambda: sorted(runs(page)) == ["missed", "old"], within=20, what="the missed runs")
    assert re.search(r"missed\W+was due at", log_of(pod))
    for again in (kill, stop):
        again(pod)
        start(pod, timezone="UTC")
    time.sleep(QUIET_SECONDS)
    assert sorted(runs(page)) == ["missed", "old"]


def _cron(due: datetime) -> dict[str, Any]:
    return {"mode": "custom", "cronExpression": f"{due.second} {due.minute} {due.hour} * * *"}


def test_of_many_missed_runs_one_is_made_up_for_and_one_in_time_is_not_run_again(pod: EnginePod, page: WebPage) -> None:
    owner = start(pod, timezone="UTC")
    due = soon()
    owner.publish(daily("once", due, page))
    rule = {"field": "cronExpression", "expression": f"{due.second % 20},{due.second % 20 + 20} * * * * *"}
    often = scheduled("often", "scheduleTrigger", 1.3, {"rule": {"interval": [rule]}}, page)
    owner.publish(often)
    wait_for(due)
    eventually(lambda: runs(page).count("once") == 1, within=10, what="the run in time")
    stop(pod)
    before = runs(page).count("often")
    time.sleep(70)
    start(pod, timezone="UTC")
    eventually(lambda: runs(page).count("often") > before, within=10, what="the one that is made up for")
    time.sleep(2)
    assert runs(page).count("often") <= before + 2  # the missed run, and one that was just due
    assert runs(page).count("once") == 1


def test_who_is_killed_in_the_moment_of_a_run_neither_loses_nor_repeats_it(pod: EnginePod, page: WebPage) -> None:
    owner = start(pod, timezone="UTC")
    due = soon()
    workflow = owner.publish(daily("now", due, page))
    time.sleep(max((due - datetime.now(UTC)).total_seconds(), 0))
    eventually(lambda: runs(page) == ["now"], within=10, what="the run")
    pod.signal_engine(signal.SIGKILL)
    eventually(lambda: pod.seen().phase == Phase.UNHEALTHY, within=5, what="the death")
    pod.wait_ready(within=60)
    time.sleep(QUIET_SECONDS)
    found = start(pod, timezone="UTC").done("GET", f'/rest/executions?filter={{"workflowId":"{workflow}"}}')
    assert len(found["results"]) == 1
    assert runs(page) == ["now"]
