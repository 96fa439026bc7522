"""Rules of the egress broker in the form in which a gateway is told them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SECRET = "ghp_0123456789abcdefghijklmnop"


def secret(*hosts: str, **given: str) -> dict[str, Any]:
    return {"header": "Authorization", "prefix": "Bearer ", "value": SECRET, **given, "hosts": list(hosts)}


def rules(
    *secrets: dict[str, Any], only: list[str] | None = None, networks: Sequence[str] = ("127.0.0.0/8",)
) -> dict[str, Any]:
    """What the gateway is told; `only` is the list of hosts if it is on. Far hosts are on this machine, so `networks`
    allows that one.
    """
    return {"limited": only is not None, "hosts": only or [], "secrets": list(secrets), "networks": list(networks)}
