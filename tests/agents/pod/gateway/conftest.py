"""A real gateway process between a scripted bridge and a scripted provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.pod.gateway.process import Gateway
from tests.doubles.bridge import BridgeDouble
from tests.doubles.provider import Provider

StartGateway = Callable[..., Gateway]


@pytest.fixture
def bridge() -> Iterator[BridgeDouble]:
    with BridgeDouble() as double:
        yield double


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as double:
        yield double


@pytest.fixture
def start_gateway(bridge: BridgeDouble, provider: Provider, tmp_path: Path) -> Iterator[StartGateway]:
    """Start gateways with other values than usual; all of them are ended."""
    started: list[Gateway] = []

    def start(**given: object) -> Gateway:
        base = {"bridge_url": bridge.url, "llm_base_url": f"{provider.url}/v1", "run_dir": str(tmp_path)}
        gateway = Gateway({**base, **given})
        started.append(gateway)
        gateway.wait_until_up()
        return gateway

    yield start
    for gateway in started:
        gateway.stop()


@pytest.fixture
def gateway(start_gateway: StartGateway) -> Gateway:
    """A gateway with an OpenAI key, its engine ready."""
    return start_gateway()
