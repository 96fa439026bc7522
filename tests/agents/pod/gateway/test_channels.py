"""Which channels are silent, as a real gateway reports: only to the control plane, and only if the engine said so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.doubles.bridge import BridgeDouble

TOKEN = "4711081500:AAbot-token-of-the-owners-telegram-bot"
TELEGRAM: dict[str, Any] = {"channels": ["web", "telegram"], "channel_secrets": {"telegramToken": TOKEN}}


def ask(gateway: GatewayProcess) -> tuple[int, Any]:
    answer = gateway.ask("GET", "/channels")
    return answer.status_code, answer.json()


def test_each_channel_but_the_web_is_told_with_the_reason_and_without_a_secret(
    start_gateway: StartGateway, bridge: BridgeDouble
) -> None:
    gateway = start_gateway(**TELEGRAM)
    bridge.channels = {"web": None, "telegram": None, "discord": "none of this agent's"}
    assert ask(gateway) == (200, {"channels": {"telegram": None}})
    bridge.channels["telegram"] = f"{TOKEN} and {KEY} are refused"
    assert ask(gateway) == (200, {"channels": {"telegram": "[secret] and [secret] are refused"}})
    bridge.channels = {"web": None}
    assert ask(gateway) == (200, {"channels": {"telegram": "the engine does not connect to it"}})
    assert bridge.turns == []


def test_an_engine_that_is_not_ready_or_has_another_configuration_or_no_key_says_nothing(
    start_gateway: StartGateway, bridge: BridgeDouble
) -> None:
    gateway, keyless = start_gateway(**TELEGRAM), start_gateway(**TELEGRAM, llm_key=None)
    bridge.channels = {"web": None, "telegram": "gone"}
    status, body = ask(keyless)
    assert (status, body["hop"]) == (503, "engine")
    bridge.revision = 0
    assert ask(gateway)[0] == 503
    bridge.revision, bridge.phase, bridge.message = 1, "unhealthy", f"it ended with {KEY}"
    assert ask(gateway) == (503, {"hop": "engine", "message": "it ended with [secret]"})
    bridge.phase, bridge.unsaid = "ready", "the engine does not answer"
    assert ask(gateway) == (503, {"hop": "engine", "message": "the engine does not answer"})
    bridge.stop()
    assert ask(gateway)[0] == 503


@pytest.mark.parametrize(
    "said",
    [
        [],
        "telegram",
        {"telegram": 1},
        {"telegram": ["x"]},
        {"telegram": "x" * 100_000},
        json.loads("[" * 500 + "]" * 500),
    ],
    ids=["list", "text", "number", "pieces", "flood", "deep"],
)
def test_an_engine_that_says_something_else_says_nothing(
    start_gateway: StartGateway, bridge: BridgeDouble, said: Any
) -> None:
    gateway = start_gateway(**TELEGRAM)
    bridge.channels = said
    status, body = ask(gateway)
    assert (status, body["hop"]) == (503, "engine")
    assert gateway.ask("GET", "/health").status_code == 200


def test_only_the_management_token_opens_it(gateway: GatewayProcess) -> None:
    answer = gateway.control_plane().get(f"{gateway.management}/channels", timeout=5)
    assert answer.status_code == 401
