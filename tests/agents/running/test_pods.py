"""The address at which the world finds an agent."""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent
from agents.running import pods


@pytest.mark.parametrize(
    ("tls", "port", "url"),
    [
        ("off", 443, "http://ada-1.pods.localhost:8001"),
        ("auto", 443, "https://ada-1.pods.localhost"),
        ("auto", 8443, "https://ada-1.pods.localhost:8443"),
    ],
)
def test_an_agents_own_host_has_the_port_that_visitors_come_to(settings: Any, tls: str, port: int, url: str) -> None:
    settings.TLS, settings.HTTPS_PORT, settings.ROUTER_PORT = tls, port, 8001
    settings.BASE_URL = "https://console.example.com" if tls == "auto" else "http://127.0.0.1:8000"
    assert pods.public_url(Agent(slug="ada-1")) == url
