"""openclaw's own page, the Control UI: served by its server, which it speaks to over a WebSocket."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from agents.engines.dashboard import Fetch

BASE = "/openclaw"
PROOF = "POD_DASHBOARD_PROOF"  # the variable that the settings name
_READS = {"GET", "HEAD"}
_HOST = "http://agent.invalid"
_READER = "x-agentpods-reader"
# To look, to talk and to answer what the agent asks. Settings, keys, channels, schedules and a terminal need
# `operator.admin`: those are the console's, or a toolset.
_SCOPES = ("operator.read", "operator.write", "operator.approvals", "operator.questions")
_PAGES = re.compile(rf"{BASE}(/.*)?")


class OpenclawDashboard:
    beside = False
    policy: str | None = None  # its page names one
    prefix = ""
    public: re.Pattern[str] | None = None
    sockets: re.Pattern[str] | None = re.compile(rf"{BASE}/?")

    def headers(self, password: str) -> Mapping[str, str]:
        """openclaw takes the gateway for a proxy that knows who reads: nobody needs its password or pairs a device."""
        return {
            "Origin": _HOST,
            "X-Forwarded-For": "192.0.2.1",  # a reader somewhere else, or openclaw would take him for the pod itself
            "X-Openclaw-Scopes": ",".join(_SCOPES),
            _READER: "owner",
            _header(proof(password)): "1",
        }

    def refuses(self, method: str, path: str) -> str | None:
        if not _PAGES.fullmatch(path):
            return "the agent is spoken to through its own interface"
        if method not in _READS:
            return "this is changed in your account"
        return None

    async def entry(self, fetch: Fetch) -> str:
        return f"{BASE}/chat"


DASHBOARD = OpenclawDashboard()


def proof(password: str) -> str:
    """What the gateway shows instead of the password. A header's *name* is secret: openclaw checks that it is there."""
    return hashlib.sha256(f"dashboard {password}".encode()).hexdigest()


def _header(secret: str) -> str:
    return f"x-pod-{secret}"


def settings() -> dict[str, Any]:
    """Of openclaw's server. Who calls it within the pod has its password."""
    return {
        "trustedProxies": ["127.0.0.1/32"],
        "auth": {
            "mode": "trusted-proxy",
            "trustedProxy": {
                "userHeader": _READER,
                "requiredHeaders": [_header(f"${{{PROOF}}}")],
                "allowLoopback": True,
                "deviceAutoApprove": {"enabled": True, "scopes": list(_SCOPES)},
            },
        },
        "controlUi": {
            "enabled": True,
            "basePath": BASE,
            "allowedOrigins": [_HOST],
            "automaticallyFetchFavicons": False,
            "communityInvite": False,
        },
        "terminal": {"enabled": False},
    }
