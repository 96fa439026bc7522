"""Messages of a channel that the platform brings to a real gateway: it asks the bridge, and reports the result."""

from __future__ import annotations

from typing import Any

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, GatewayProcess
from tests.doubles.bridge import BridgeDouble

MESSAGE = {"channel": "whatsapp", "name": "wamid.1", "body": "{}"}


def bring(gateway: GatewayProcess) -> tuple[int, Any]:
    answer = gateway.ask("PUT", "/message", json=MESSAGE)
    return answer.status_code, answer.json()


def test_a_message_is_brought_to_the_engine_until_its_turn_is_over(
    start_gateway: StartGateway, bridge: BridgeDouble
) -> None:
    gateway = start_gateway()
    assert bring(gateway) == (200, {"is_over": False})
    bridge.over = {"wamid.1"}
    assert bring(gateway) == (200, {"is_over": True})
    assert bridge.messages == [MESSAGE, MESSAGE]


def test_an_engine_that_takes_none_says_why_without_a_secret(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    gateway = start_gateway()
    bridge.takes_none = f"not with {KEY}"
    assert bring(gateway) == (503, {"hop": "engine", "message": "not with [secret]"})
    bridge.stop()
    status, said = bring(gateway)
    assert (status, said["hop"]) == (503, "engine")


def test_without_a_model_key_no_message_is_brought(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    status, said = bring(start_gateway(llm_key=None))
    assert (status, said["hop"]) == (503, "model")
    assert bridge.messages == []


def test_only_the_control_plane_brings_messages(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    assert start_gateway().ask("PUT", "/message", token="another", json=MESSAGE).status_code == 401
    assert bridge.messages == []
