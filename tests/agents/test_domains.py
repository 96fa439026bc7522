"""Which hostnames a customer may bring."""

from __future__ import annotations

from typing import Any

import pytest

from agents import domains
from config.errors import BadRequest


@pytest.mark.parametrize("own", ["console.example.com", ".example.com", "Example.com"])
def test_the_consoles_own_names_are_refused_however_the_operator_wrote_them(settings: Any, own: str) -> None:
    settings.CONSOLE_HOSTS = [own]
    for name in ("console.example.com", "x.console.example.com"):
        with pytest.raises(BadRequest, match=r"^domain: names under"):
            domains.normalised(name)
    assert domains.normalised("agent.example.org") == "agent.example.org"
