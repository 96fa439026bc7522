"""A gateway whose engine uses the egress broker, and hosts for it to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from agents.pod.gateway.egress import authority
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import LLM_TOKEN, TICKET_KEY, GatewayProcess
from tests.doubles.certificates import Certificates
from tests.doubles.far_host import FarHost

Engine = Callable[..., requests.Session]


@pytest.fixture
def world(tmp_path: Path) -> Certificates:
    """The authority that all hosts on the internet have their certificates from."""
    return Certificates(tmp_path)


@pytest.fixture
def far(world: Certificates) -> Iterator[FarHost]:
    """Answers to the names api.localhost and *.far.localhost over TLS."""
    with FarHost(world.server("api.localhost", "*.far.localhost")) as host:
        yield host


@pytest.fixture
def plain() -> Iterator[FarHost]:
    with FarHost() as host:
        yield host


@pytest.fixture
def broker(start_gateway: StartGateway, world: Certificates) -> Callable[..., GatewayProcess]:
    """`broker(rules)`: a gateway with these rules."""

    def start(egress: dict[str, Any], **given: Any) -> GatewayProcess:
        usual = {"inside": False, "environment": {"SSL_CERT_FILE": str(world.authority)}}
        return start_gateway(egress=egress, **{**usual, **given})

    return start


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """`engine(gateway)`: a client with the environment of an engine."""
    bundle = tmp_path / "engine-ca.pem"
    bundle.write_text(authority.certificate_of(TICKET_KEY))

    def made(gateway: GatewayProcess, *trusted: str, token: str = LLM_TOKEN) -> requests.Session:
        bundle.write_text(authority.certificate_of(TICKET_KEY) + "".join(trusted))
        address = gateway.llm.replace("http://", f"http://pod:{token}@")
        session = requests.Session()
        session.trust_env = False
        session.proxies = {"http": address, "https": address}
        session.verify = str(bundle)
        return session

    return made
