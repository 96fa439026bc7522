"""Whether an agent's pod is there and whether it answers (spec: Liveness)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import requests

from agents.models import Agent
from agents.runtimes import current_runtime
from config import waiting

PROBE_TIMEOUT_SECONDS = 3
CACHED_SECONDS = 1.5
MAX_CACHED = 10_000


@dataclass(frozen=True, slots=True)
class Liveness:
    reachable: bool | None
    serving: bool | None


_recent: dict[str, tuple[float, Liveness]] = {}


def of(agent: Agent) -> Liveness:
    """What the runtime says of the pod and what its address answers; at most CACHED_SECONDS old."""
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
    waiting.release_connection()
    return Liveness(reachable=pod is not None and pod.gateway_alive, serving=_serves(endpoint.public_url))


def _serves(url: str) -> bool | None:
    """Dials the runtime's endpoint, never a stored URL. None when the connection itself failed."""
    try:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(url, timeout=PROBE_TIMEOUT_SECONDS, allow_redirects=False, stream=True)
            answer.close()
    except requests.ReadTimeout:
        return False
    except requests.RequestException:
        return None
    return answer.status_code < 500
