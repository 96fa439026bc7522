"""A real gateway process for a scripted pod, so that what passes through it is real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents.models import Agent
from agents.runtimes.base import Endpoint
from tests.agents.pod.gateway.process import Gateway
from tests.doubles.bridge import BridgeDouble
from tests.doubles.runtime import ScriptedRuntime

GatewayOf = Callable[..., Gateway]


@pytest.fixture
def bridge() -> Iterator[BridgeDouble]:
    with BridgeDouble() as double:
        yield double


@pytest.fixture
def gateway_of(bridge: BridgeDouble, runtime: ScriptedRuntime, tmp_path: Path) -> Iterator[GatewayOf]:
    """`gateway_of(agent)`: this agent's pod is reached through a real gateway before a scripted engine."""
    started: list[Gateway] = []

    def start(agent: Agent, **given: object) -> Gateway:
        known = {
            "management_token": agent.management_token,
            "ticket_key": agent.ticket_key,
            "namespace": agent.namespace,
            "name": agent.name,
        }
        gateway = Gateway({"bridge_url": bridge.url, "run_dir": str(tmp_path), **known, **given})
        started.append(gateway)
        gateway.wait_until_up()
        runtime.addresses[agent.namespace] = Endpoint(public_url=gateway.public, management_url=gateway.management)
        return gateway

    yield start
    for gateway in started:
        gateway.stop()
