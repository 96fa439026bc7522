"""Whether an agent's pod is there and whether it answers (docs/spec.md: Liveness)."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass
from typing import Any

import certifi
import requests
from requests.adapters import HTTPAdapter

from agents.models import Agent
from agents.runtimes import current_runtime
from agents.runtimes.base import Endpoint
from config import hanging_up, waiting

PROBE_TIMEOUT_SECONDS = 3  # for connecting, and for each silence
WHOLE_SECONDS = 6.0  # for the whole answer: the agent's own program may answer, one byte now and then
CACHED_SECONDS = 1.5
MAX_CACHED = 10_000


@dataclass(frozen=True, slots=True)
class Liveness:
    reachable: bool | None
    serving: bool | None


_recent: dict[str, tuple[float, Liveness]] = {}


def of(agent: Agent) -> Liveness:
    """Whether the runtime sees the pod and whether its address answers. The result is at most CACHED_SECONDS old.

    Raises Unavailable when too many calls wait.
    """
    known = _recent.get(agent.namespace)
    if known and time.monotonic() - known[0] < CACHED_SECONDS:
        return known[1]
    found = _look(agent)
    if len(_recent) >= MAX_CACHED:
        _recent.clear()
    _recent[agent.namespace] = (time.monotonic(), found)
    return found


def _look(agent: Agent) -> Liveness:
    runtime = current_runtime()
    endpoint = runtime.endpoint(agent.namespace)
    if endpoint is None:
        return Liveness(reachable=None, serving=None)
    pod = runtime.observe(agent.suffix).get(agent.namespace)
    with waiting.looks.take(agent.user_id):
        return Liveness(reachable=pod is not None and pod.gateway_alive, serving=_serves(endpoint))


class _Trusting(HTTPAdapter):
    """Trusts the certificates of one more authority (PEM) than the public ones."""

    def __init__(self, authority: str) -> None:
        self._context = ssl.create_default_context(cafile=certifi.where())
        self._context.load_verify_locations(cadata=authority)
        super().__init__()

    def init_poolmanager(self, *given: Any, **named: Any) -> None:
        super().init_poolmanager(*given, **named, ssl_context=self._context)


def distrusted(endpoint: Endpoint) -> str | None:
    """Why visitors would not trust the certificate of the public address. None when no problem is known."""
    if not endpoint.public_url.startswith("https:"):
        return None
    try:
        _visit(endpoint)
    except requests.exceptions.SSLError as error:
        return _why(error)
    except requests.RequestException:
        pass
    return None


def _serves(endpoint: Endpoint) -> bool | None:
    """Whether the public address answers without a server error. None when the connection itself failed, which includes
    a certificate that is not trusted."""
    try:
        return _visit(endpoint) < 500
    except requests.ReadTimeout:
        return False
    except requests.RequestException:
        return None


def _visit(endpoint: Endpoint) -> int:
    """Visit the runtime's endpoint, never a stored URL. Returns the HTTP status."""
    with requests.Session() as session:
        session.trust_env = False
        if endpoint.authority:
            session.mount("https://", _Trusting(endpoint.authority))
        until = time.monotonic() + WHOLE_SECONDS
        try:
            with hanging_up.ends_with_caller(session, seconds=WHOLE_SECONDS):
                answer = session.get(
                    endpoint.public_url, timeout=PROBE_TIMEOUT_SECONDS, allow_redirects=False, stream=True
                )
                answer.close()
        finally:
            if time.monotonic() >= until:
                raise requests.ReadTimeout  # whatever error the cut connection shows
        return answer.status_code


def _why(error: requests.exceptions.SSLError) -> str:
    """OpenSSL's own message, which is two exceptions deep."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    handshake = reason.args[0] if isinstance(reason, Exception) and reason.args else None
    return str(getattr(handshake, "verify_message", "") or "the TLS handshake failed")
