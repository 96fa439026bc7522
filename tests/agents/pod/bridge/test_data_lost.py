"""An agent had data and its disk is empty: its engine is not started, and its directory is not changed."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict

import pytest

from tests.agents.pod.bridge.conftest import MakeBridge
from tests.agents.pod.bridge.process import BridgeProcess, eventually, pod_config


def refused(bridge: BridgeProcess) -> None:
    """Checks that no engine was started, and that the state says why."""
    state = bridge.wait_for("failed")
    assert (state["cause"], state["revision"], state["enginePid"]) == ("DATA_LOST", None, None)
    assert "empty" in state["message"]
    assert bridge.engines() == []


def names(bridge: BridgeProcess) -> list[str]:
    """The names of the files in the agent's directory."""
    return [found.name for found in bridge.data.iterdir()]


@pytest.mark.parametrize("found", [None, [], ["lost+found"]], ids=["no directory", "nothing", "a fresh disk"])
def test_data_that_is_gone_is_told_at_each_start_and_nothing_is_written_there(
    make_bridge: MakeBridge, found: list[str] | None
) -> None:
    # A bridge without a home of its own makes one on the agent's disk. It must not do so here.
    bridge = make_bridge(environment={"HOME": "/nowhere", "TMPDIR": "/nowhere"})
    for name in found or []:
        (bridge.data / name).mkdir(parents=True)
    if found == []:
        bridge.data.mkdir(parents=True)
    for _ in range(2):
        bridge.start(data_expected=True)
        refused(bridge)
        assert names(bridge) == (found or [])
        assert bridge.end() == 0


def test_a_new_configuration_does_not_start_it_and_it_goes_on_reporting(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    bridge.start(data_expected=True)
    refused(bridge)
    connection, response = bridge.ask("PUT", "/config", asdict(pod_config(revision=2)))
    assert response.status == 202
    connection.close()
    report = bridge.run_dir / "state.json"
    before = report.stat().st_mtime
    eventually(lambda: report.stat().st_mtime > before + 1, within=10, what="a younger report")
    refused(bridge)
    assert json.loads(report.read_text())["cause"] == "DATA_LOST"
    assert names(bridge) == []


def test_an_engine_whose_own_directory_is_gone_is_not_started(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    (bridge.data / "workspace").mkdir(parents=True)
    bridge.start(data_expected=True)
    state = bridge.wait_for("failed")
    assert (state["cause"], state["enginePid"]) == ("DATA_DAMAGED", None)
    assert "'pi' is gone" in state["message"]
    assert names(bridge) == ["workspace"]
    bridge.end()
    (bridge.data / "pi").mkdir()
    bridge.start(data_expected=True)
    assert bridge.wait_for("ready")["cause"] is None


def test_an_engine_that_has_run_once_leaves_something_there(bridge: BridgeProcess) -> None:
    bridge.end()
    bridge.start(data_expected=True)
    bridge.wait_for("ready")


def emptied(bridge: BridgeProcess) -> None:
    for found in bridge.data.iterdir():
        shutil.rmtree(found) if found.is_dir() else found.unlink()


def test_data_that_goes_while_the_engine_runs_is_told_and_the_engine_ends(bridge: BridgeProcess) -> None:
    emptied(bridge)
    state = bridge.wait_for("failed")
    assert (state["cause"], state["enginePid"]) == ("DATA_LOST", None)
    eventually(lambda: bridge.engines() == [], what="the engine's end")
    assert names(bridge) == []


def test_an_engine_that_died_with_its_data_is_not_started_anew(bridge: BridgeProcess) -> None:
    shutil.rmtree(bridge.data)
    for engine in bridge.engines():
        engine.kill()
    assert bridge.wait_for("failed")["cause"] == "DATA_LOST"
    assert not bridge.data.exists()
    assert bridge.engines() == []


def test_a_new_configuration_does_not_hide_that_the_data_is_gone(bridge: BridgeProcess) -> None:
    emptied(bridge)
    connection, response = bridge.ask("PUT", "/config", asdict(pod_config(revision=2)))
    assert response.status == 202
    connection.close()
    assert bridge.wait_for("failed")["cause"] == "DATA_LOST"
    assert names(bridge) == []
