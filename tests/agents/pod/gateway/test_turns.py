"""Turns: which hop failed, the order of turns, and how long they may take."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.provider import ModelVendor, ProviderHandler


@pytest.mark.parametrize(
    ("phase", "message", "said"),
    [
        ("failed", "npm could not install it", "npm could not install it"),
        ("unhealthy", None, "the engine is unhealthy"),
        ("starting", None, "the engine is starting"),
        ("stopped", None, "the engine is stopped"),
    ],
)
def test_an_engine_that_is_not_ready_is_named(
    gateway: GatewayProcess, bridge: BridgeDouble, phase: str, message: str | None, said: str
) -> None:
    bridge.phase, bridge.message = phase, message
    answer = gateway.chat()
    assert answer.status_code == 503
    assert answer.json() == {"error": "INTERNAL", "hop": "engine", "message": said}
    assert bridge.turns == []


def test_a_bridge_that_says_more_than_it_may_is_not_there(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    """The bridge is in the engine's container, so any program may answer there."""
    bridge.message = "x" * 1_000_000
    assert (gateway.chat().status_code, bridge.turns) == (503, [])


def test_a_bridge_that_is_gone_is_the_engines_failure(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.stop()
    answer = gateway.chat()
    assert (answer.status_code, answer.json()["hop"]) == (503, "engine")


def test_a_turn_that_the_bridge_does_not_take_fails_with_its_reason(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.busy = "x" * 1_000_000
    assert "answered more than" in gateway.chat().json()["message"]
    bridge.busy = "the engine is being stopped"
    assert gateway.chat().json() == {"error": "INTERNAL", "hop": "engine", "message": "the engine is being stopped"}


def test_more_turns_than_a_pod_can_hold_are_refused_by_the_gateway(fresh: GatewayProcess, bridge: BridgeDouble) -> None:
    released = threading.Event()

    def hold(_: ReceivedTurn) -> Iterable[Event]:
        released.wait(20)
        yield {"type": "done", "reply": "held"}

    bridge.turn = hold
    with ThreadPoolExecutor(64) as pool:
        held = [pool.submit(fresh.chat, "hi", "ses_1") for _ in range(64)]
        time.sleep(2)
        refused = fresh.chat()
        released.set()
        assert {answer.result().status_code for answer in held} == {200}
    assert (refused.status_code, refused.json()["hop"]) == (503, "gateway")


@pytest.mark.parametrize("hop", ["engine", "model"])
def test_a_failure_keeps_the_hop_that_the_bridge_names(gateway: GatewayProcess, bridge: BridgeDouble, hop: str) -> None:
    bridge.turn = lambda _: [{"type": "error", "hop": hop, "message": "it broke"}]
    answer = gateway.chat()
    assert answer.status_code == 503
    assert answer.json() == {"error": "INTERNAL", "hop": hop, "message": "it broke"}


def _calls_the_model(gateway: GatewayProcess, ending: Event) -> Iterable[Event]:
    gateway.call_model()
    yield ending


def test_a_refusal_of_the_provider_is_told_in_its_words(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    provider.answer = lambda handler: handler.whole(401, b'{"error": {"message": "Incorrect API key provided"}}')
    failed = {"type": "error", "hop": "engine", "message": "exit 1"}
    bridge.turn = lambda _: _calls_the_model(gateway, failed)
    body = gateway.chat().json()
    assert body["hop"] == "model"
    assert body["message"] == "openai refused the model key (401): Incorrect API key provided"


def test_silence_after_a_refusal_of_the_provider_is_no_reply(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    provider.answer = lambda handler: handler.whole(500, b"<html>oops</html>")
    bridge.turn = lambda _: _calls_the_model(gateway, {"type": "done", "reply": ""})
    answer = gateway.chat()
    assert (answer.status_code, answer.json()["hop"]) == (503, "model")
    assert answer.json()["message"] == "openai answered 500"


def test_an_earlier_refusal_is_not_blamed_for_a_later_failure(
    fresh: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    provider.answer = lambda handler: handler.whole(500, b"{}")
    fresh.call_model()
    bridge.turn = lambda _: [{"type": "error", "hop": "engine", "message": "it crashed"}]
    assert fresh.chat().json()["hop"] == "engine"


def test_turns_of_one_session_run_one_after_the_other(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    running: list[str] = []
    most = 0

    def watched(turn: ReceivedTurn) -> Iterable[Event]:
        nonlocal most
        running.append(turn.message)
        most = max(most, len(running))
        time.sleep(0.2)
        running.remove(turn.message)
        yield {"type": "done", "reply": turn.message}

    bridge.turn = watched
    with ThreadPoolExecutor(4) as pool:
        answers = []
        for n in range(4):
            answers.append(pool.submit(gateway.chat, f"m{n}", "ses_1"))
            time.sleep(0.05)
        replies = [answer.result().json()["reply"] for answer in answers]
    assert most == 1
    assert replies == ["m0", "m1", "m2", "m3"]
    assert [turn.message for turn in bridge.turns] == replies


def test_turns_of_different_sessions_run_side_by_side(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    together = threading.Barrier(4, timeout=10)

    def meets(turn: ReceivedTurn) -> Iterable[Event]:
        together.wait()
        yield {"type": "done", "reply": turn.session_id}

    bridge.turn = meets
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(gateway.chat, "hi", f"ses_{n}") for n in range(4)]
        assert [answer.result().json()["reply"] for answer in answers] == [f"ses_{n}" for n in range(4)]


def test_a_turn_waits_for_the_engine_to_take_a_new_configuration(fresh: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.applies = False
    bridge.phase = "starting"
    fresh.configure(soul="Be new.")

    def apply() -> None:
        time.sleep(1.0)
        bridge.revision, bridge.phase = 2, "ready"

    threading.Thread(target=apply).start()
    assert fresh.chat("hello").json()["reply"] == "you said hello"


def test_a_bridge_that_is_ahead_of_the_gateway_is_not_waited_for(
    gateway: GatewayProcess, bridge: BridgeDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, Any]] = []
    state = bridge.state

    def say() -> dict[str, Any]:
        said.append(state())
        return said[-1]

    monkeypatch.setattr(bridge, "state", say)
    bridge.revision = 9
    assert gateway.chat("hello").json()["reply"] == "you said hello"
    assert [each["revision"] for each in said] == [9]


def test_the_model_in_the_middle_of_a_call_is_named_when_the_turn_is_cut(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    def cut(handler: ProviderHandler) -> None:
        handler.begin()
        handler.say(b"data: {}\n\n")
        handler.cut()

    provider.answer = cut

    def engine(_: ReceivedTurn) -> Iterable[Event]:
        with pytest.raises(requests.RequestException):
            gateway.call_model()
        yield {"type": "error", "hop": "engine", "message": "stream ended"}

    bridge.turn = engine
    body = gateway.chat().json()
    assert (body["hop"], body["message"]) == ("model", "openai broke off its answer")


@pytest.mark.slow
@pytest.mark.parametrize("hop", ["engine", "model"])
def test_a_turn_ends_after_110_seconds_and_names_who_is_late(
    fresh: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor, hop: str
) -> None:
    released = threading.Event()
    provider.answer = lambda handler: handler.begin() if released.wait(150) else None

    def ask_the_model() -> None:
        with contextlib.suppress(requests.RequestException):
            fresh.call_model(timeout=150)

    def hang(_: ReceivedTurn) -> Iterable[Event]:
        if hop == "model":
            threading.Thread(target=ask_the_model, daemon=True).start()
        released.wait(150)
        yield {"type": "delta", "text": "too late"}

    bridge.turn = hang
    started = time.monotonic()
    answer = fresh.ask("POST", "/chat", json={"message": "hi"}, timeout=125)
    released.set()
    assert 109 < time.monotonic() - started < 114
    assert (answer.status_code, answer.json()["hop"]) == (503, hop)
    assert answer.json()["message"] == f"the {hop} did not finish the turn within 110 s"
