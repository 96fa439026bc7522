from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.doubles.provider import ModelVendor

TOKEN = "a2a-token-0123456789"


@pytest.fixture(scope="session")
def _peerable(
    _bridge: BridgeDouble, _provider: ModelVendor, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    run_dir = str(tmp_path_factory.mktemp("a2a"))
    gateway = GatewayProcess(
        {
            "bridge_url": _bridge.url,
            "llm_base_url": _provider.url,
            "inside": True,
            "run_dir": run_dir,
            "a2a_enabled": True,
            "a2a_token": TOKEN,
        }
    )
    gateway.wait_until_up()
    yield gateway
    gateway.stop()


@pytest.fixture
def peerable(_peerable: GatewayProcess, bridge: BridgeDouble) -> GatewayProcess:
    """A gateway whose agent speaks A2A. Many tests share it, so each must leave it as it was."""
    assert bridge.phase == "ready"
    _peerable.look()
    return _peerable


@pytest.fixture
def fresh_peerable(start_gateway: StartGateway) -> GatewayProcess:
    """A gateway whose agent speaks A2A, for one test alone."""
    return start_gateway(a2a_enabled=True, a2a_token=TOKEN)
