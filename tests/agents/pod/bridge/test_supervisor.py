"""An engine that dies, hangs, is stopped by a signal or never starts, and the death of the bridge itself."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict

import psutil
import pytest

from agents.pod import processes
from agents.pod.bridge import engine_process, supervisor
from tests.agents.pod.bridge.conftest import MakeBridge
from tests.agents.pod.bridge.process import LLM_TOKEN, TOKEN, BridgeProcess, eventually, is_up, pod_config


@pytest.fixture
def whole() -> bool:
    return True


def said_before(bridge: BridgeProcess, text: str) -> int:
    """How often the message is in the engine's own session files."""
    files = (bridge.data / "pi" / "sessions").rglob("*.jsonl")
    return sum(json.loads(line)["text"] == text for file in files for line in file.read_text().splitlines())


def test_a_started_engine_is_ready_on_the_revision_it_was_given(bridge: BridgeProcess) -> None:
    state = bridge.wait_for("ready")
    assert state["revision"] == 1
    assert state["cause"] is None
    assert is_up(state["enginePid"])


def test_the_state_file_says_the_same_and_stays_young(bridge: BridgeProcess) -> None:
    path = bridge.run_dir / "state.json"
    told = bridge.state()
    assert told is not None
    assert told.pop("bridgeBytes") > 0  # measured anew for each answer
    assert json.loads(path.read_text()) == told
    assert path.stat().st_mode & 0o077 == 0
    first = path.stat().st_mtime
    eventually(lambda: path.stat().st_mtime > first, within=2.5, what="a younger state.json")


def test_a_killed_engine_answers_nothing_until_it_is_started_again_after_five_seconds(bridge: BridgeProcess) -> None:
    bridge.reply("say before")
    bridge.kill_engine()
    died = time.monotonic()
    state = bridge.wait_for("unhealthy", within=2)
    assert state["cause"] == "ENGINE_DIED"
    assert bridge.turn("say x")["hop"] == "engine"
    assert bridge.turn("say x", "another")["hop"] == "engine"
    assert bridge.engines() == []
    state = bridge.wait_for("ready", within=12)
    assert time.monotonic() - died >= 5
    assert state["restarts"] == 1
    assert bridge.reply("count") == "1"


def test_an_engine_is_started_again_when_asked_without_a_pause(bridge: BridgeProcess) -> None:
    bridge.reply("say before")
    events, before = bridge.events("hang", "other"), bridge.engine_pid()
    next(events)
    connection, answer = bridge.ask("POST", "/restart")
    assert json.loads(answer.read()) == {"restarting": True}
    connection.close()
    assert list(events)[-1]["type"] == "error"
    eventually(lambda: (bridge.state() or {}).get("restarts") == 1, within=4, what="the restart")
    bridge.wait_for("ready", within=4)
    assert not is_up(before)
    assert bridge.reply("count") == "1"


def test_a_turn_in_flight_when_the_engine_dies_fails_and_is_not_replayed(bridge: BridgeProcess) -> None:
    events = bridge.events("hang")
    next(events)
    bridge.kill_engine()
    last = list(events)[-1]
    assert (last["type"], last["hop"]) == ("error", "engine")
    bridge.wait_for("unhealthy", within=2)
    bridge.wait_for("ready", within=12)
    bridge.reply("say x")
    assert said_before(bridge, "hang") == 1


def test_the_death_of_any_conversation_is_the_death_of_the_engine(bridge: BridgeProcess) -> None:
    bridge.reply("say x", "a")
    first = bridge.engine_pid()
    bridge.reply("say x", "b")
    os.kill(first, signal.SIGKILL)
    bridge.wait_for("unhealthy", within=2)
    eventually(lambda: not bridge.engines(), within=2, what="the end of all processes")


def test_an_engine_that_ends_by_itself_is_a_death_with_its_last_words(bridge: BridgeProcess) -> None:
    assert bridge.turn("crash")["hop"] == "engine"
    state = bridge.wait_for("unhealthy", within=2)
    assert "exit code 3" in state["message"]
    assert "fatal: heap" in state["evidence"]


def test_a_stopped_engine_is_seen_within_eight_seconds_and_goes_on_where_it_was(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    pid = bridge.engine_pid()
    bridge.kill_engine(signal.SIGSTOP)
    assert bridge.turn("say during")["hop"] == "engine"
    assert bridge.wait_for("unhealthy", within=8)["cause"] == "ENGINE_HUNG"
    refused = bridge.turn("say during")
    assert (refused["hop"], refused["message"]) == ("engine", engine_process.STOPPED)
    os.kill(pid, signal.SIGCONT)
    bridge.wait_for("ready", within=8)
    assert bridge.reply("count") == "1"
    assert bridge.engine_pid() == pid
    assert said_before(bridge, "say during") == 0


def test_a_stopped_engine_answers_no_new_conversation_either(bridge: BridgeProcess) -> None:
    bridge.reply("say x", "old")
    pid = bridge.engine_pid()
    os.kill(pid, signal.SIGSTOP)
    assert bridge.turn("say during", "new") == {
        "type": "error", "hop": "engine", "message": "the engine is stopped by a signal"
    }  # fmt: skip
    assert is_up(pid)
    os.kill(pid, signal.SIGCONT)
    bridge.wait_for("ready", within=8)
    assert bridge.reply("say after", "new") == "after"


def test_a_turn_that_runs_when_the_engine_is_stopped_fails_at_once(bridge: BridgeProcess) -> None:
    events = bridge.events("hang")
    next(events)
    bridge.kill_engine(signal.SIGSTOP)
    failed = list(events)[-1]
    assert (failed["hop"], failed["message"]) == ("engine", engine_process.STOPPED)  # no silence had to be measured


def test_an_engine_that_does_not_answer_is_unhealthy_within_ten_seconds_of_its_own_time(bridge: BridgeProcess) -> None:
    """Seconds in which the machine gave the engine no CPU do not count, so no clock here can measure the ten."""
    spinning = bridge.events("spin")
    assert list(spinning)[-1] == {"type": "error", "hop": "engine", "message": "the engine does not answer"}
    assert bridge.wait_for("unhealthy")["cause"] == "ENGINE_HUNG"
    assert engine_process.SILENCE_SECONDS + engine_process.BEAT_SECONDS + supervisor.TICK_SECONDS <= 10


@pytest.mark.slow
def test_a_hung_engine_is_ended_and_started_again(bridge: BridgeProcess) -> None:
    bridge.turn("spin")
    pid = bridge.engine_pid()
    eventually(lambda: not is_up(pid), within=45, what="the end of the hung engine")
    state = bridge.wait_for("ready", within=15)
    assert state["restarts"] == 1


def test_an_engine_that_cannot_start_says_why_without_secrets(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    (bridge.data / "pi").mkdir(parents=True)
    (bridge.data / "pi" / "die-at-start").touch()
    bridge.start(pod_config(channel_secrets={"telegramToken": "sk-secret-of-a-channel"}))
    state = eventually(lambda: (s := bridge.state()) and s["cause"] and s, what="a cause")
    assert (state["phase"], state["cause"], state["revision"]) == ("starting", "ENGINE_DIED", None)
    assert "fatal: told to die, key [secret]" in state["evidence"]

    assert bridge.turn("say x")["hop"] == "engine"


@pytest.mark.slow
def test_an_engine_that_dies_again_and_again_is_a_crash_loop_until_it_holds(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    (bridge.data / "pi").mkdir(parents=True)
    (bridge.data / "pi" / "die-at-start").touch()
    bridge.start()
    assert bridge.wait_for("failed", within=25)["cause"] == "CRASH_LOOP"
    (bridge.data / "pi" / "die-at-start").unlink()
    assert bridge.wait_for("ready", within=30)["cause"] is None


def test_a_new_configuration_is_tried_without_waiting_out_a_long_pause(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    (bridge.data / "pi").mkdir(parents=True)
    (bridge.data / "pi" / "die-at-start").touch()
    bridge.start()
    eventually(lambda: (bridge.state() or {}).get("restarts", 0) >= 2, within=15, what="the second death")
    (bridge.data / "pi" / "die-at-start").unlink()
    bridge.configure(pod_config(revision=2))
    assert bridge.wait_for("ready", within=8)["revision"] == 2


def test_a_configuration_that_cannot_be_rendered_is_named_and_a_good_one_cures_it(bridge: BridgeProcess) -> None:
    assert bridge.status_of("PUT", "/config", asdict(pod_config(revision=2, lang="xx"))) == 202
    assert bridge.wait_for("unhealthy", within=5)["cause"] == "CONFIG"
    bridge.configure(pod_config(revision=3))
    assert bridge.wait_for("ready")["revision"] == 3


def test_an_engine_package_that_cannot_be_had_is_the_cause_install(make_bridge: MakeBridge) -> None:
    nowhere = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0"}
    bridge = make_bridge(environment=nowhere)
    for entry in bridge.cache.iterdir():
        entry.rename(entry.with_name("something-else"))
    bridge.start()
    assert bridge.wait_for("installing")["revision"] is None
    state = bridge.wait_for("failed", within=60)
    assert state["cause"] == "INSTALL"
    assert "npm failed" in state["message"]
    assert state["evidence"]
    assert not list(bridge.cache.glob(".pi-*.new-*"))


def test_a_told_bridge_ends_its_engine_and_all_that_the_engine_started(bridge: BridgeProcess) -> None:
    background = int(bridge.reply("spawn"))
    assert is_up(background)
    assert bridge.end() == 0
    assert bridge.engines() == []
    assert not is_up(background)
    assert json.loads((bridge.run_dir / "state.json").read_text())["phase"] == "stopped"


def test_a_bridge_told_in_the_middle_of_a_turn_ends_it(bridge: BridgeProcess) -> None:
    events = bridge.events("hang")
    next(events)
    assert bridge.end(within=20) == 0
    assert bridge.engines() == []


def test_a_bridge_with_a_stopped_engine_ends_all_the_same(bridge: BridgeProcess) -> None:
    bridge.kill_engine(signal.SIGSTOP)
    assert bridge.end() == 0
    assert bridge.engines() == []


def test_a_killed_bridge_takes_its_engine_with_it_and_the_next_one_clears_what_is_left(bridge: BridgeProcess) -> None:
    background = int(bridge.reply("spawn"))
    bridge.end(signal.SIGKILL)
    eventually(lambda: [process.pid for process in bridge.engines()] == [background], within=3, what="the engine's end")
    bridge.start()
    bridge.wait_for("ready")
    assert not is_up(background)
    assert len(bridge.engines()) == 1
    assert bridge.reply("count") == "1"


def test_two_bridges_never_keep_one_engine(bridge: BridgeProcess) -> None:
    first = bridge.process
    assert first is not None
    bridge.port += 1
    bridge.start()
    assert bridge.process is not None
    assert bridge.process.wait(20) == 3
    bridge.port -= 1
    bridge.process = first
    assert bridge.reply("say still here") == "still here"
    eventually(lambda: len(bridge.engines()) == 1, what="one engine, with nothing that has just ended beside it")


def test_the_pods_of_two_generations_never_share_the_agents_data(
    bridge: BridgeProcess, make_bridge: MakeBridge
) -> None:
    next_one = make_bridge()
    next_one.run_dir = bridge.home / "pods" / "pod-test-2"
    next_one.run_dir.mkdir()
    next_one.start()
    assert next_one.process is not None
    assert next_one.process.wait(20) == 3
    assert bridge.reply("say mine") == "mine"


def test_a_taken_port_is_the_cause_port(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    with socket.create_server(("127.0.0.1", bridge.port)):
        bridge.start()
        assert bridge.process is not None
        assert bridge.process.wait(20) == errno.EADDRINUSE
    state = json.loads((bridge.run_dir / "state.json").read_text())
    assert (state["phase"], state["cause"]) == ("failed", "PORT")


def test_a_bridge_ends_with_the_supervisor_it_was_started_under(make_bridge: MakeBridge) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as supervisor:
        created = psutil.Process(supervisor.pid).create_time()
        bridge = make_bridge(environment={"AGENTPODS_SUPERVISOR": f"{supervisor.pid}:{created}"})
        bridge.start()
        bridge.wait_for("ready")
        supervisor.kill()
    assert bridge.process is not None
    assert bridge.process.wait(15) == 0
    assert bridge.engines() == []


def test_an_unusable_start_document_ends_the_bridge_without_a_trace_of_it() -> None:
    command = [sys.executable, "-m", "agents.pod.bridge"]
    ended = subprocess.run(command, input=b'{"token": "secret"}', capture_output=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert b"secret" not in ended.stdout + ended.stderr


def test_the_engine_inherits_nothing_and_its_environment_holds_no_token_but_its_own(bridge: BridgeProcess) -> None:
    seen = json.loads(bridge.reply("env"))
    assert "INHERITED_BY_THE_BRIDGE" not in seen
    assert seen["POD_LLM_TOKEN"] == LLM_TOKEN
    for process in bridge.engines():
        environment = json.dumps(dict(processes.environment_of(process.pid)))
        assert TOKEN not in environment
        assert TOKEN not in " ".join(process.cmdline())


def test_no_file_of_the_pod_holds_the_bridge_token(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    files = [path for path in bridge.home.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_dead_children_of_the_engine_do_not_stay_as_zombies(bridge: BridgeProcess) -> None:
    bridge.reply("spawn")
    bridge.kill_engine()
    bridge.wait_for("unhealthy")
    assert bridge.process is not None
    owner = psutil.Process(bridge.process.pid)
    eventually(lambda: not owner.children(), within=3, what="the last child's end")
