"""Tools that wait: what they answer when the wait ends otherwise than hoped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from agents.models import Agent
from agents.running import lifecycle
from config import waiting
from mcp_server import loop, warming
from tests.agents.conftest import MakeAgent, settle
from tests.agents.pod.bridge.process import eventually
from tests.mcp_server.conftest import OfficialClients


def when_somebody_waits(work: Callable[[], object]) -> threading.Thread:
    """Do this in another thread once a call waits, as an owner and a worker would."""

    def run() -> None:
        try:
            eventually(lambda: waiting.settlings._taken.total() > 0, what="a call that waits")
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def delete(agent: Agent) -> None:
    lifecycle.delete(agent, actor="user:owner")
    settle(agent)


def test_what_is_prepared_ahead_is_prepared_once(official: OfficialClients) -> None:
    warming.start(after=0).join()
    prepared = loop.begin()

    async def work(client: Any) -> Any:
        return await client.list_tools()

    assert len(official.run("2026-07-28", work).tools) >= 20
    assert loop.begin() is prepared


@pytest.mark.parametrize(("tool", "given"), [("get_agent", {}), ("run_agent", {"action": "pause"})])
def test_an_agent_that_is_deleted_during_the_wait_is_deleted_in_the_answer(
    official: OfficialClients, make_agent: MakeAgent, tool: str, given: dict[str, str]
) -> None:
    agent = make_agent()

    async def work(client: Any) -> Any:
        return await client.call_tool(tool, {"agentId": agent.pk, "waitSeconds": 20, **given})

    deleting = when_somebody_waits(lambda: delete(agent))
    told = official.run("2026-07-28", work)
    deleting.join()
    assert told.structured_content["agent"]["status"] == "deleted", told
