"""Who follows a pod of this machine is told when it has come up or has ended."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agents.runtimes.base import Phase
from agents.runtimes.local import LocalRuntime
from agents.runtimes.local.following import PodFollower
from tests.agents.runtimes.conftest import AGENT, NAMESPACE, clear_away, pod_spec
from tests.doubles.pi import install_double

SOON = 20.0


class ToldAgents:
    """The ids that were told, in their order."""

    def __init__(self) -> None:
        self._ids: queue.Queue[str] = queue.Queue()

    def __call__(self, agent_id: str) -> None:
        self._ids.put(agent_id)

    def next(self) -> str:
        return self._ids.get(timeout=SOON)

    def is_empty(self) -> bool:
        return self._ids.empty()


@pytest.fixture
def told() -> ToldAgents:
    return ToldAgents()


@pytest.fixture
def followed(tmp_path: Path, told: ToldAgents) -> Iterator[LocalRuntime]:
    runtime = LocalRuntime(home=tmp_path / "home", engine_cache=install_double(tmp_path / "engines"), tell=told)
    yield runtime
    clear_away(runtime)


def test_an_agent_is_told_once_when_its_pod_is_ready_and_when_it_has_stopped(
    followed: LocalRuntime, told: ToldAgents
) -> None:
    followed.deploy(pod_spec())
    assert told.next() == AGENT
    pod = followed.observe()[NAMESPACE]
    assert (pod.phase, pod.gateway_alive) == (Phase.READY, True)
    followed.stop(NAMESPACE)
    assert told.next() == AGENT
    assert followed.observe()[NAMESPACE].phase == Phase.STOPPED
    assert told.is_empty()


def report(run_dir: Path, name: str, **body: object) -> None:
    """Replace the report as a whole, as the programs of a pod do."""
    fresh = run_dir / f".{name}.tmp"
    fresh.write_text(json.dumps(body))
    fresh.replace(run_dir / name)


@pytest.fixture
def follower(told: ToldAgents) -> PodFollower:
    return PodFollower(told)


def test_a_ready_engine_is_not_told_before_its_gateway_listens(
    follower: PodFollower, told: ToldAgents, tmp_path: Path
) -> None:
    (first, second) = (tmp_path / "first", tmp_path / "second")
    for run_dir in (first, second):
        run_dir.mkdir()
        follower.until_up(f"agt_{run_dir.name}", run_dir)
        report(run_dir, "state.json", phase="ready")
    report(second, "gateway.json", certificate="one")
    assert told.next() == "agt_second"
    report(first, "gateway.json", certificate="one")
    assert told.next() == "agt_first"


def test_a_pod_that_has_failed_is_told(follower: PodFollower, told: ToldAgents, tmp_path: Path) -> None:
    follower.until_up(AGENT, tmp_path)
    report(tmp_path, "state.json", phase="installing")
    report(tmp_path, "state.json", phase="failed")
    assert told.next() == AGENT


def test_a_pod_that_waits_for_a_restore_is_told_and_again_when_it_is_ready(
    follower: PodFollower, told: ToldAgents, tmp_path: Path
) -> None:
    follower.until_up(AGENT, tmp_path)
    report(tmp_path, "gateway.json", certificate="one")
    report(tmp_path, "state.json", phase="restoring")
    assert told.next() == AGENT
    report(tmp_path, "state.json", phase="restoring")
    report(tmp_path, "state.json", phase="ready")
    assert told.next() == AGENT
    assert told.is_empty()


def test_a_pod_that_was_ready_before_anybody_followed_it_is_told(
    follower: PodFollower, told: ToldAgents, tmp_path: Path
) -> None:
    report(tmp_path, "state.json", phase="ready")
    report(tmp_path, "gateway.json", certificate="one")
    follower.until_up(AGENT, tmp_path)
    assert told.next() == AGENT


def test_a_pod_that_is_removed_meanwhile_does_not_keep_others_from_being_told(
    follower: PodFollower, told: ToldAgents, tmp_path: Path
) -> None:
    (tmp_path / "removed").mkdir()
    follower.until_up("agt_removed", tmp_path / "removed")
    shutil.rmtree(tmp_path / "removed")
    follower.until_up("agt_never_there", tmp_path / "never-there")
    follower.until_up(AGENT, tmp_path)
    report(tmp_path, "state.json", phase="failed")
    assert told.next() == AGENT
    assert told.is_empty()


def test_processes_whose_end_is_asked_for_again_and_again_are_followed_once(
    follower: PodFollower, told: ToldAgents
) -> None:
    with subprocess.Popen(["sleep", "60"]) as program:
        before = psutil.Process().num_fds()
        for _ in range(50):
            follower.until_ended(AGENT, [psutil.Process(program.pid)])
        follower.until_ended("agt_other", [])
        assert told.next() == "agt_other"
        assert psutil.Process().num_fds() - before < 20
        program.kill()
        program.wait()
    assert told.next() == AGENT
    follower.until_ended("agt_other", [])
    assert told.next() == "agt_other"
    assert told.is_empty()
