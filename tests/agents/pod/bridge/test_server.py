"""Turns, state and configuration over the bridge's HTTP server, with the double of an engine."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.agents.pod.bridge.conftest import MakeBridge
from tests.agents.pod.bridge.process import BridgeProcess, eventually, pod_config


def test_only_the_holder_of_the_bridge_token_is_answered(shared: BridgeProcess) -> None:
    assert shared.status_of("GET", "/state", token="wrong") == 401
    assert shared.status_of("PUT", "/config", {}, token="wrong") == 401
    assert shared.status_of("POST", "/turn", {"session_id": "s", "message": "say x"}, token="wrong") == 401


def test_a_cluster_may_ask_without_a_token_whether_the_engine_is_ready(bridge: BridgeProcess) -> None:
    assert [bridge.status_of("GET", path, token="") for path in ("/healthz", "/readyz")] == [200, 200]
    assert [bridge.status_of("POST", path, token="") for path in ("/healthz", "/readyz")] == [405, 405]
    bridge.kill_engine()
    bridge.wait_for("unhealthy", within=2)
    connection, response = bridge.ask("GET", "/readyz", token="")
    assert (response.status, json.loads(response.read())) == (503, {"phase": "unhealthy"})
    connection.close()
    assert bridge.status_of("GET", "/healthz", token="") == 200


@pytest.mark.parametrize("path", ["/readyz/", "//readyz", "/readyz/../state", "/%72eadyz/../state", "/state?/readyz"])
def test_nothing_that_only_looks_like_a_probe_is_answered_without_a_token(shared: BridgeProcess, path: str) -> None:
    assert shared.status_of("GET", path, token="") == 401


@pytest.mark.parametrize("session", ["", "a/b", "../x", "a b", "ü", "x" * 65, None, 5, "a.b", "-", "_x"])
def test_a_session_id_that_is_not_permitted_is_refused(shared: BridgeProcess, session: object) -> None:
    assert shared.status_of("POST", "/turn", {"session_id": session, "message": "say x"}) == 400


@pytest.mark.parametrize("session", ["a", "x_-", "A" * 64, "9_"])
def test_every_permitted_session_id_is_a_conversation(shared: BridgeProcess, session: str) -> None:
    assert shared.reply("count", session) == "0"
    assert shared.reply("count", session) == "1"


@pytest.mark.parametrize("body", [None, [], {"session_id": "s"}, {"session_id": "s", "message": " "}, {"message": "x"}])
def test_a_malformed_turn_is_refused(shared: BridgeProcess, body: object) -> None:
    assert shared.status_of("POST", "/turn", body) == 400


def test_a_turn_comes_in_pieces_that_make_up_the_reply(shared: BridgeProcess) -> None:
    *pieces, done = shared.events("say one two three")
    assert [piece["text"] for piece in pieces] == ["one", " two", " three"]
    assert done == {"type": "done", "reply": "one two three"}


def test_a_reply_larger_than_any_buffer_arrives_whole(shared: BridgeProcess) -> None:
    assert len(shared.reply(f"big {3 * 2**20}")) == 3 * 2**20


def test_text_that_is_hard_to_frame_arrives_as_it_is(shared: BridgeProcess) -> None:
    text = 'line\nline\u2028separator \U0001f600 \x00 "quoted"'
    assert shared.reply(text) == f"you said {text}"


def test_conversations_do_not_know_of_each_other(shared: BridgeProcess) -> None:
    shared.reply("say x", "first")
    assert shared.reply("count", "second") == "0"
    assert shared.reply("count", "first") == "1"


def test_a_model_that_refuses_is_the_models_failure(shared: BridgeProcess) -> None:
    event = shared.turn("fail")
    assert (event["type"], event["hop"]) == ("error", "model")
    assert "401" in event["message"]


def test_an_engine_that_ends_a_turn_without_a_word_has_not_answered(shared: BridgeProcess) -> None:
    assert shared.turn("silent")["hop"] == "model"


def test_after_a_failed_turn_the_conversation_goes_on(shared: BridgeProcess) -> None:
    shared.turn("fail")
    assert shared.reply("say fine") == "fine"


def test_without_a_model_the_model_is_named_as_the_failing_hop(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    bridge.start(pod_config(provider=None, model=None))
    bridge.wait_for("ready")
    assert bridge.turn("say x")["hop"] == "model"


def test_a_caller_that_hangs_up_ends_the_turn(shared: BridgeProcess) -> None:
    events = shared.events("hang")
    assert next(events)["type"] == "delta"
    events.close()
    assert shared.reply("say free") == "free"


def test_turns_of_one_conversation_go_one_after_the_other(shared: BridgeProcess) -> None:
    hanging = shared.events("hang", "same")
    next(hanging)
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(shared.reply, "say later", "same")
        assert shared.reply("say other", "other") == "other"
        assert not later.done()
        hanging.close()
        assert later.result(10) == "later"


def test_a_changed_soul_reaches_a_conversation_that_already_runs(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    bridge.configure(pod_config(revision=2, soul="You are a pilot.", extra_soul="Fly low.", timezone="Asia/Tokyo"))
    seen = json.loads(bridge.reply("args"))
    assert "You are a pilot." in seen["soul"]
    assert "Fly low." in seen["soul"]
    assert "lighthouse" not in seen["soul"]
    assert json.loads(bridge.reply("env"))["TZ"] == "Asia/Tokyo"
    assert bridge.reply("count") == "3"


def test_a_changed_model_reaches_a_conversation_that_remembers_another(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    bridge.configure(pod_config(revision=2, provider="anthropic", model="brand-new"))
    assert json.loads(bridge.reply("args"))["model"] == {"provider": "anthropic", "id": "brand-new"}


def test_a_revision_that_changes_nothing_for_the_engine_leaves_its_processes_alone(bridge: BridgeProcess) -> None:
    bridge.reply("say x")
    before = bridge.engine_pid()
    bridge.configure(pod_config(revision=2, a2a_enabled=True))
    assert bridge.engine_pid() == before


def test_an_older_revision_does_not_undo_a_newer_one(bridge: BridgeProcess) -> None:
    bridge.configure(pod_config(revision=3, soul="Third."))
    connection, response = bridge.ask("PUT", "/config", asdict(pod_config(revision=2, soul="Second.")))
    assert json.loads(response.read()) == {"revision": 3}
    connection.close()
    assert "Third." in json.loads(bridge.reply("args"))["soul"]


def test_a_turn_that_runs_while_the_configuration_changes_is_not_cut_off(bridge: BridgeProcess) -> None:
    running = bridge.events("hang")
    next(running)
    bridge.configure(pod_config(revision=2, soul="Changed."))
    assert len(bridge.engines()) == 2
    running.close()
    assert "Changed." in json.loads(bridge.reply("args"))["soul"]
    eventually(lambda: len(bridge.engines()) == 1, what="the end of the old process")


def test_a_malformed_configuration_is_refused(shared: BridgeProcess) -> None:
    assert shared.status_of("PUT", "/config", {"revision": 2}) == 400
    assert shared.status_of("PUT", "/config", {**asdict(pod_config()), "surprise": 1}) == 400


def test_a_small_tier_keeps_two_conversations_in_memory_and_forgets_none(bridge: BridgeProcess) -> None:
    for session in ("a", "b", "c"):
        bridge.reply("say x", session)
    eventually(lambda: len(bridge.engines()) == 2, what="two processes")
    assert bridge.reply("count", "a") == "1"


def test_a_larger_tier_keeps_more(make_bridge: MakeBridge) -> None:
    bridge = make_bridge()
    bridge.start(memory_bytes=2 * 2**30)
    bridge.wait_for("ready")
    for session in ("a", "b", "c", "d"):
        bridge.reply("say x", session)
    time.sleep(0.3)
    assert len(bridge.engines()) == 4


@pytest.mark.parametrize("whole", [True])
def test_the_state_tells_what_the_bridge_itself_takes_of_memory(bridge: BridgeProcess) -> None:
    """The memory of the bridge's process, without the engine's, and without pages of files. In a cluster, such pages
    count for the container that brought the bridge. With them, an idle engine would seem to use no memory at all.
    """
    code, told_state = bridge._call("GET", "/state")
    told = told_state["bridgeBytes"]
    assert code == 200
    assert told % 2**20 == 0
    assert bridge.process
    status = Path(f"/proc/{bridge.process.pid}/status").read_text()
    anonymous, of_files = (int(status.partition(f"{name}:")[2].split()[0]) * 1024 for name in ("RssAnon", "RssFile"))
    assert of_files > 4 * 2**20
    assert abs(told - anonymous) <= 2 * 2**20


def test_the_state_names_the_process_that_answered_last(bridge: BridgeProcess) -> None:
    bridge.reply("say x", "a")
    assert json.loads(bridge.reply("args", "b"))["pid"] == bridge.engine_pid()


@pytest.mark.slow
def test_a_turn_that_passes_the_deadline_fails_and_frees_the_conversation(bridge: BridgeProcess) -> None:
    started = time.monotonic()
    event = bridge.turn("hang")
    assert 105 < time.monotonic() - started < 110
    assert (event["type"], event["hop"]) == ("error", "model")
    assert bridge.reply("say free") == "free"


def test_the_web_is_connected_as_soon_as_the_engine_is_ready(shared: BridgeProcess) -> None:
    assert shared.channels() == {"web": None}


def test_while_the_engine_is_down_no_channel_is_connected(bridge: BridgeProcess) -> None:
    bridge.kill_engine()
    bridge.wait_for("unhealthy")
    assert "the engine ended by signal 9" in (bridge.channels()["web"] or "")


def test_that_the_engine_itself_said_nothing_of_channels_is_told_apart(bridge: BridgeProcess) -> None:
    assert bridge.unsaid() is None
    bridge.kill_engine()
    bridge.wait_for("unhealthy")
    assert "the engine ended by signal 9" in (bridge.unsaid() or "")


def test_a_channel_that_the_engine_does_not_connect_to_says_so(bridge: BridgeProcess) -> None:
    bridge.configure(pod_config(revision=2, channels=["web", "telegram"]))
    assert bridge.channels() == {"web": None, "telegram": "the engine does not connect to it"}


def test_an_engine_without_that_channel_takes_no_message_of_it(bridge: BridgeProcess) -> None:
    status, said = bridge.bring({"channel": "whatsapp", "name": "wamid.1", "body": "{}"})
    assert (status, said["message"]) == (503, "the engine takes no messages of whatsapp from the platform")
    assert bridge.bring({"channel": "whatsapp", "name": 1, "body": "{}"})[0] == 400
    bridge.kill_engine()
    bridge.wait_for("unhealthy")
    status, said = bridge.bring({"channel": "whatsapp", "name": "wamid.1", "body": "{}"})
    assert (status, "ended by signal 9" in said["message"]) == (503, True)
