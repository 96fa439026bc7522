"""openclaw's own page, the Control UI. openclaw's server serves it, and the page talks to the server
over a WebSocket.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from agents.engines.dashboard import Fetch

BASE = "/openclaw"
PROOF = "POD_DASHBOARD_PROOF"  # the variable to which the settings refer
_READS = {"GET", "HEAD"}
_HOST = "http://agent.invalid"
_READER = "x-agentpods-reader"
# Rights to look, to talk, and to answer the agent's questions. Settings, keys, channels, schedules and a terminal need
# `operator.admin`; these are changed in the console, or are a toolset.
_SCOPES = ("operator.read", "operator.write", "operator.approvals", "operator.questions")
_PAGES = re.compile(rf"{BASE}(/.*)?")


class OpenclawDashboard:
    beside = False
    policy: str | None = None  # the page sets its own policy
    prefix = ""
    public: re.Pattern[str] | None = None
    sockets: re.Pattern[str] | None = re.compile(rf"{BASE}/?")

    def headers(self, password: str) -> Mapping[str, str]:
        """With these headers, openclaw takes the gateway for a trusted proxy that knows its visitor. So the visitor
        needs no password and pairs no device.
        """
        return {
            "Origin": _HOST,
            # any foreign address; without it, openclaw would take the visitor for the pod itself
            "X-Forwarded-For": "192.0.2.1",
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
    """A secret that the gateway shows instead of the password. It is part of a header's *name*, because openclaw only
    checks that the header is there.
    """
    return hashlib.sha256(f"dashboard {password}".encode()).hexdigest()


def _header(secret: str) -> str:
    return f"x-pod-{secret}"


def settings() -> dict[str, Any]:
    """The settings of openclaw's server for its page. Other callers inside the pod use the server's password."""
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
