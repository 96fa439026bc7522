"""One word through each hop of a real gateway: which hop is silent, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.doubles.bridge import BridgeDouble, ReceivedTurn
from tests.doubles.provider import ModelVendor

Hops = dict[str, dict[str, Any]]


def tried(gateway: GatewayProcess) -> Hops:
    answer = gateway.ask("POST", "/talk-test")
    assert answer.status_code == 200, answer.text
    hops = answer.json()["hops"]
    assert all(set(hop) == {"hop", "ok", "ms", "error"} for hop in hops)
    assert all((hop["error"] is None) == hop["ok"] for hop in hops)
    return {hop["hop"]: hop for hop in hops}


def silent(hops: Hops) -> list[str]:
    return [name for name, hop in hops.items() if not hop["ok"]]


def test_every_hop_of_a_healthy_pod_answers_in_order(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    hops = tried(gateway)
    assert list(hops) == ["gateway", "engine", "model", "web"]
    assert silent(hops) == []
    assert all(isinstance(hop["ms"], int) for hop in hops.values())
    assert len(bridge.turns) == 1


def test_each_test_is_a_conversation_of_its_own(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    tried(gateway)
    tried(gateway)
    assert len({turn.session_id for turn in bridge.turns}) == 2


def test_without_a_key_only_the_health_is_asked(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    hops = tried(start_gateway(llm_key=None))
    assert silent(hops) == ["model"]
    assert "PATCH /agents/{id}/llm-key" in hops["model"]["error"]
    assert bridge.turns == []


def test_an_engine_that_is_down_says_why_and_nothing_behind_it_is_tried(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.phase, bridge.cause, bridge.message = "failed", "CRASH_LOOP", "3 times in a row: the engine ended"
    hops = tried(gateway)
    assert silent(hops) == ["engine", "model", "web"]
    assert hops["engine"]["error"] == "CRASH_LOOP: 3 times in a row: the engine ended"
    assert (hops["model"]["error"], hops["model"]["ms"]) == ("not tried: the engine is silent", None)
    assert bridge.turns == []


def test_a_bridge_that_is_gone_is_a_silent_engine(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.stop()
    hops = tried(gateway)
    assert silent(hops) == ["engine", "model", "web"]
    assert hops["engine"]["error"] == "the engine's bridge does not answer"


def test_an_engine_that_looks_healthy_and_fails_its_turn_is_the_silent_one(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.turn = lambda turn: [{"type": "error", "hop": "engine", "message": "the engine broke"}]
    hops = tried(gateway)
    assert silent(hops) == ["engine", "model", "web"]
    assert hops["engine"]["error"] == "the engine broke"


@pytest.mark.parametrize("status", [401, 500])
def test_a_provider_that_refuses_is_the_silent_hop_with_its_own_words(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor, status: int
) -> None:
    def call(_: ReceivedTurn) -> list[dict[str, Any]]:
        gateway.call_model()
        return [{"type": "done", "reply": ""}]

    said = json.dumps({"error": {"message": f"not with {KEY}"}}).encode()
    provider.answer = lambda handler: handler.whole(status, said)
    bridge.turn = call
    hops = tried(gateway)
    assert silent(hops) == ["model"]
    assert str(status) in hops["model"]["error"]
    assert KEY not in str(hops)


def test_a_model_without_a_word_is_silent(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda turn: [{"type": "done", "reply": " "}]
    hops = tried(gateway)
    assert (silent(hops), hops["model"]["error"]) == (["model"], "the model said nothing")


def test_each_channel_is_a_hop(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    bridge.channels = {"web": None, "telegram": "Unauthorized", "email": None}
    hops = tried(start_gateway(channels=["web", "telegram", "email", "discord"]))
    assert list(hops) == ["gateway", "engine", "model", "web", "telegram", "email", "discord"]
    assert silent(hops) == ["telegram", "discord"]
    assert hops["telegram"]["error"] == "Unauthorized"
