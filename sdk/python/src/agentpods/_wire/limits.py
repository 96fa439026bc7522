"""How much of an answer is taken, and how long for."""

from __future__ import annotations

import platform

import httpx

from agentpods._wire.call import ApiCall

VERSION = "0.1.0"
ABOUT_US = {"User-Agent": f"agentpods-python/{VERSION} Python/{platform.python_version()}"}
MAX_ANSWER_BYTES = 64 * 1024 * 1024
CONNECT_SECONDS = 10.0
MARGIN_SECONDS = 15.0


def timeout(seconds: float, call: ApiCall) -> httpx.Timeout:
    """Between two pieces of an answer this long; longer where the call asks the service to wait longer."""
    prefer = call.given_headers.get("Prefer", "")
    waits = float(prefer.removeprefix("wait=")) + MARGIN_SECONDS if prefer.startswith("wait=") else 0.0
    return httpx.Timeout(max(seconds, waits), connect=min(CONNECT_SECONDS, seconds))
