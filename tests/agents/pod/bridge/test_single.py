"""An engine that is one server for all conversations. The tests talk to opencode's protocol through the bridge."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.engines.opencode import OPENCODE
from tests.agents.pod.bridge.process import BridgeProcess, eventually, is_up, pod_config
from tests.doubles.opencode import install_double

pytestmark = pytest.mark.sampled


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[BridgeProcess]:
    """A bridge that is not started yet."""
    bridge = BridgeProcess(tmp_path / "home", install_double(tmp_path / "engines"))
    yield bridge
    bridge.clear_away()


@pytest.fixture
def bridge(stopped: BridgeProcess) -> BridgeProcess:
    stopped.start(engine=OPENCODE.id)
    stopped.wait_for("ready")
    return stopped


def told(bridge: BridgeProcess, session: str = "s1") -> dict[str, Any]:
    """The settings that the engine has during a turn."""
    found: dict[str, Any] = json.loads(bridge.reply("config", session))
    return found


def in_the_background(bridge: BridgeProcess, message: str, session: str) -> tuple[threading.Thread, list[Any]]:
    """Begin a turn, and return when it has begun. The last event of the turn is added to the list later."""
    heard: list[Any] = []
    events = bridge.events(message, session)
    next(events)
    thread = threading.Thread(target=lambda: heard.extend(list(events)[-1:]))
    thread.start()
    return thread, heard


def test_a_reply_comes_in_pieces_and_whole(bridge: BridgeProcess) -> None:
    events = list(bridge.events("say a b c"))
    assert [event["text"] for event in events[:-1]] == ["a", " b", " c"]
    assert events[-1] == {"type": "done", "reply": "a b c"}


def test_a_reply_of_several_steps_is_all_their_text_without_thoughts_and_summaries(bridge: BridgeProcess) -> None:
    events = list(bridge.events("steps"))
    assert events[-1]["reply"] == "I look.\n\nIt is there."
    assert "".join(event["text"] for event in events[:-1]) == events[-1]["reply"]


def test_one_process_serves_all_conversations_each_with_its_own_past(bridge: BridgeProcess) -> None:
    assert bridge.reply("say x", "a") == "x"
    assert bridge.reply("count", "b") == "0"
    assert bridge.reply("count", "a") == "1"
    assert len(bridge.engines()) == 1


def test_a_conversation_has_a_title_so_that_no_model_is_asked_for_one(bridge: BridgeProcess) -> None:
    seen = told(bridge, "talk-1_A")
    assert (seen["title"], seen["agent"]) == ("talk-1_A", "chat")
    assert seen["model"]["providerID"] == "openai"


def test_two_conversations_talk_side_by_side(bridge: BridgeProcess) -> None:
    hanging = bridge.events("hang", "a")
    next(hanging)
    assert bridge.reply("say quick", "b") == "quick"
    hanging.close()


def test_a_port_that_another_program_took_is_named_and_nothing_is_started_meanwhile(bridge: BridgeProcess) -> None:
    bridge.kill_engine()
    bridge.wait_for("unhealthy")
    with socket.create_server(("127.0.0.1", bridge.engine_port)):
        state = eventually(lambda: _with_cause(bridge, "PORT"), what="the cause")
        assert state["message"].startswith(f"port {bridge.engine_port} of the engine is taken by another program")
        assert str(bridge.engine_port) in state["evidence"][-1]
        assert bridge.engines() == []
        assert bridge.turn("say x")["hop"] == "engine"
    bridge.wait_for("ready", within=30)


def _with_cause(bridge: BridgeProcess, cause: str) -> dict[str, Any] | None:
    state = bridge.state()
    return state if state and state["cause"] == cause else None


def test_a_conversation_goes_on_after_a_restart_of_the_bridge(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    assert bridge.end() == 0
    assert bridge.engines() == []
    bridge.start(engine=OPENCODE.id)
    bridge.wait_for("ready")
    assert bridge.reply("count") == "1"


def test_a_changed_soul_acts_without_a_restart(bridge: BridgeProcess) -> None:
    assert "lighthouse" in bridge.reply("soul")
    pid = bridge.engine_pid()
    bridge.configure(pod_config(revision=2, soul="You are a sailor."))
    assert "sailor" in bridge.reply("soul")
    assert bridge.engine_pid() == pid


def test_a_changed_model_is_a_restart_that_lets_running_turns_end(bridge: BridgeProcess) -> None:
    pid = bridge.engine_pid()
    hanging = bridge.events("hang", "a")
    next(hanging)
    changing = threading.Thread(target=bridge.configure, args=[pod_config(revision=2, model="another")])
    changing.start()
    time.sleep(1)
    assert bridge.engine_pid() == pid
    hanging.close()
    changing.join(30)
    assert not changing.is_alive()
    assert told(bridge)["model"] == {"providerID": "openai", "modelID": "another"}
    assert bridge.engine_pid() != pid


def test_a_turn_that_does_not_end_fails_for_the_new_configuration(bridge: BridgeProcess) -> None:
    thread, heard = in_the_background(bridge, "hang", "a")
    bridge.configure(pod_config(revision=2, model="another"))
    thread.join(20)
    assert heard[-1]["hop"] == "engine"
    assert "new configuration" in heard[-1]["message"]


def test_a_turn_that_comes_during_the_restart_waits_for_it(bridge: BridgeProcess) -> None:
    thread, _ = in_the_background(bridge, "hang", "a")
    changing = threading.Thread(target=bridge.configure, args=[pod_config(revision=2, model="another")])
    changing.start()
    time.sleep(1)
    assert told(bridge, "b")["model"]["modelID"] == "another"
    changing.join(20)
    thread.join(20)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("fail", "Incorrect API key (401)"),
        ("busy", "Rate limit reached"),
        ("patient", "Rate limit reached"),
        ("silent", "the model ended the turn without a word"),
    ],
)
def test_what_the_provider_does_wrong_is_the_models_failure_and_the_next_turn_works(
    bridge: BridgeProcess, message: str, said: str
) -> None:
    assert bridge.turn(message) == {"type": "error", "hop": "model", "message": said}
    assert bridge.reply("say well") == "well"


def test_what_the_engine_refuses_is_its_own_failure(bridge: BridgeProcess) -> None:
    failed = bridge.turn("refuse")
    assert failed["hop"] == "engine"
    assert "disk is full" in failed["message"]
    assert bridge.reply("say well") == "well"


def test_a_caller_that_hangs_up_ends_the_turn_in_the_engine(bridge: BridgeProcess) -> None:
    hanging = bridge.events("hang")
    next(hanging)
    hanging.close()
    assert bridge.reply("say after") == "after"


@pytest.mark.slow
def test_an_aborted_turn_that_does_not_end_keeps_the_next_one_from_its_conversation_alone(
    bridge: BridgeProcess,
) -> None:
    deaf = bridge.events("deaf")
    next(deaf)
    deaf.close()
    failed = bridge.turn("say after")
    assert failed == {"type": "error", "hop": "engine", "message": "the engine did not end an aborted turn"}
    assert bridge.reply("say well", "another") == "well"


def test_an_event_larger_than_any_buffer_arrives(bridge: BridgeProcess) -> None:
    assert len(bridge.reply("big 3000000")) == 3_000_000


def test_a_killed_engine_fails_its_turns_and_comes_back_with_its_past(bridge: BridgeProcess) -> None:
    bridge.reply("say before", "a")
    thread, heard = in_the_background(bridge, "hang", "b")
    bridge.kill_engine()
    thread.join(10)
    assert heard[-1]["hop"] == "engine"
    assert bridge.wait_for("unhealthy", within=2)["cause"] == "ENGINE_DIED"
    assert bridge.turn("say x", "a")["hop"] == "engine"
    bridge.wait_for("ready", within=15)
    assert bridge.reply("count", "a") == "1"


def test_an_engine_that_ends_by_itself_leaves_its_last_words(bridge: BridgeProcess) -> None:
    assert bridge.turn("crash")["hop"] == "engine"
    state = bridge.wait_for("unhealthy", within=5)
    assert "exit code 3" in state["message"]
    assert "fatal: heap" in state["evidence"]


def test_a_stopped_engine_takes_no_turn_and_goes_on_where_it_was(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    pid = bridge.engine_pid()
    os.kill(pid, signal.SIGSTOP)
    assert bridge.turn("say during")["hop"] == "engine"
    assert bridge.wait_for("unhealthy", within=10)["cause"] == "ENGINE_HUNG"
    os.kill(pid, signal.SIGCONT)
    bridge.wait_for("ready", within=10)
    assert bridge.reply("count") == "1"
    assert bridge.engine_pid() == pid


@pytest.mark.slow
def test_an_engine_that_spins_is_unhealthy(bridge: BridgeProcess) -> None:
    assert bridge.turn("spin") == {"type": "error", "hop": "engine", "message": "the engine does not answer"}
    assert bridge.wait_for("unhealthy")["cause"] == "ENGINE_HUNG"


def test_an_engine_that_cannot_start_says_so(stopped: BridgeProcess) -> None:
    settings = stopped.data / "opencode" / "config" / "opencode"
    settings.mkdir(parents=True)
    (settings / "die-at-start").touch()
    stopped.start(engine=OPENCODE.id)
    state = eventually(lambda: (seen := stopped.state()) and seen["cause"] and seen, what="a cause")
    assert (state["phase"], state["cause"]) == ("starting", "ENGINE_DIED")
    assert "fatal: told to die" in state["evidence"]


def test_it_ends_in_the_middle_of_a_turn_with_all_that_it_started(bridge: BridgeProcess) -> None:
    child = int(bridge.reply("spawn"))
    thread, heard = in_the_background(bridge, "hang", "b")
    assert bridge.end() == 0
    thread.join(10)
    assert heard == [] or heard[-1]["hop"] == "engine"
    assert not is_up(child)
    assert bridge.engines() == []


def test_its_server_is_for_the_bridge_alone(bridge: BridgeProcess) -> None:
    password = json.loads(bridge.reply("env"))["OPENCODE_SERVER_PASSWORD"]
    assert password
    connections = psutil.Process(bridge.engine_pid()).net_connections("inet")
    assert {each.laddr[0] for each in connections if each.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
    assert password not in " ".join(psutil.Process(bridge.engine_pid()).cmdline()) + bridge.log()
