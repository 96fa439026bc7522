"""Agent-to-agent settings that are refused."""

from __future__ import annotations

import pytest

from agents.configuring import a2a
from config.errors import BadRequest


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://bob.example.com", "FTPS://bob.example.com/a2a", "https://bob.example.com:99999/", "http://bob:0/"),
        "https://bob:secret@bob.example.com/a2a",
    ],
)
def test_a_peer_is_reached_over_http(url: str) -> None:
    peers = [{"name": "ann", "url": "HTTPS://ann.example.com"}, {"name": "bob", "url": url}]
    with pytest.raises(BadRequest, match=r"^a2a\.peers\[1\]\.url: "):
        a2a.check({"enabled": True, "peers": peers})
    a2a.check({"enabled": True, "peers": peers[:1]})
