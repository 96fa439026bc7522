"""The memory of a parsed body is free after the answer, without waiting for garbage collection."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent

pytestmark = pytest.mark.unmeasured

MANY = [{"name": "x"}] * 60_000
REFUSED = {"personaId": "study-buddy", "tier": "tiny", "a2a": {"enabled": True, "peers": MANY}}
TIMES = 5
MOST_KEPT_BYTES = 10 * 2**20  # of all bodies: each is 1 MiB of text, which may stay for a while, and 15 MiB of objects


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


def _kept(client: APIClient, method: str, path: str, body: Any) -> int:
    """The bytes still in use after refused calls, not counting those that the first call leaves for good."""
    before = 0
    for number in range(TIMES + 1):
        answer = client.generic(method, path, body, content_type="application/json")
        assert answer.status_code == 400
        del answer
        if number == 0:
            before = tracemalloc.get_traced_memory()[0]
    return tracemalloc.get_traced_memory()[0] - before


@pytest.mark.sampled
@pytest.mark.unmeasured
@pytest.mark.usefixtures("without_collections")
@pytest.mark.parametrize("where", ["create", "tools"])
def test_refused_bodies_leave_nothing_behind(client: APIClient, running: Agent, where: str) -> None:
    body, method, path = json.dumps(REFUSED), "POST", "/agents"
    if where == "tools":
        body, method, path = json.dumps({"enabled": [], "mcpServers": MANY}), "PUT", f"/agents/{running.pk}/tools"
    assert _kept(client, method, path, body) < MOST_KEPT_BYTES
