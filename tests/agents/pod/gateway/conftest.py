"""A real gateway between a scripted bridge and a scripted provider. It runs in the process of the tests, unless a test
is about a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.doubles.provider import ModelVendor

StartGateway = Callable[..., GatewayProcess]


@pytest.fixture(scope="session")
def _bridge() -> Iterator[BridgeDouble]:
    with BridgeDouble() as double:
        yield double


@pytest.fixture(scope="session")
def _provider() -> Iterator[ModelVendor]:
    with ModelVendor() as double:
        yield double


@pytest.fixture
def bridge(_bridge: BridgeDouble) -> BridgeDouble:
    _bridge.reset()
    return _bridge


@pytest.fixture
def provider(_provider: ModelVendor) -> ModelVendor:
    _provider.reset()
    return _provider


@pytest.fixture(scope="session")
def _gateway(
    _bridge: BridgeDouble, _provider: ModelVendor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    gateway = _started(_bridge, _provider, tmp_path_factory.mktemp("gateway"), {})
    yield gateway
    gateway.stop()


@pytest.fixture
def gateway(_gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor) -> GatewayProcess:
    """A gateway with an OpenAI key and a ready engine. Many tests share it, so each must leave it as it was."""
    _gateway.look()
    return _gateway


@pytest.fixture
def start_gateway(bridge: BridgeDouble, provider: ModelVendor, tmp_path: Path) -> Iterator[StartGateway]:
    """`start_gateway(…)`: start a gateway for one test, with other values than usual. All are stopped afterwards.

    `inside=False` gives it a process of its own, `whole=True` one that is started as the runtime does it.
    """
    started: list[GatewayProcess] = []

    def start(**given: object) -> GatewayProcess:
        started.append(_started(bridge, provider, tmp_path, given))
        return started[-1]

    yield start
    for gateway in started:
        gateway.stop()


@pytest.fixture
def fresh(start_gateway: StartGateway) -> GatewayProcess:
    """A gateway with the usual values, for one test alone."""
    return start_gateway()


def _started(bridge: BridgeDouble, provider: ModelVendor, run_dir: Path, given: dict[str, object]) -> GatewayProcess:
    base = {"bridge_url": bridge.url, "llm_base_url": f"{provider.url}/v1", "run_dir": str(run_dir), "inside": True}
    gateway = GatewayProcess({**base, **given})
    gateway.wait_until_up()
    return gateway
