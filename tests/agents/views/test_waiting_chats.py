"""Turns that wait in a real web process. They cost connections there, and no thread."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from django.utils import timezone

from accounts import sessions
from accounts.models import User
from agents.models import Agent
from agents.running import identity
from agents.runtimes.base import Identity
from tests.agents.conftest import MakeAgent, settle
from tests.doubles import slow_gateway
from tests.doubles.slow_gateway import SlowGateway
from tests.patience import wait_until
from tests.webs import Web

pytestmark = [pytest.mark.sampled, pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

CHATS = 100
STREAMED = {"Accept": "text/event-stream"}


class SlowlyTalking:
    """A web process, an agent whose model is slow, and its owner's token."""

    def __init__(self, web: Web, agent: Agent, gateway: SlowGateway, token: str) -> None:
        self.web, self.agent, self.gateway = web, agent, gateway
        self._headers = {"Authorization": f"Bearer {token}"}

    @asynccontextmanager
    async def client(self) -> AsyncIterator[aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(self.web.url, connector=connector, headers=self._headers) as session:
            yield session

    def chat(self, session: aiohttp.ClientSession, **headers: str) -> Any:
        return session.post(f"/agents/{self.agent.pk}/chat", json={"message": "hi"}, headers=headers)

    def threads(self) -> int:
        parent = psutil.Process(self.web.process.pid)
        return sum(one.num_threads() for one in [parent, *parent.children(recursive=True)])

    async def wait_for(self, *, open: int) -> None:  # of turns
        await asyncio.to_thread(wait_until, lambda: self.gateway.open == open, 60)


@pytest.fixture
def talking(
    make_agent: MakeAgent, owner: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlowlyTalking]:
    agent = settle(make_agent())
    own = identity.ensured(agent)
    token = sessions.start(owner, attribution=None, now=timezone.now())[1]
    with SlowGateway(Identity(key=own.gateway_key, certificate=own.gateway_certificate)) as gateway:
        monkeypatch.setenv("AGENT_RUNTIME", "tests.doubles.slow_gateway.SlowPodsRuntime")
        monkeypatch.setenv(slow_gateway.ADDRESS, gateway.url)
        monkeypatch.setenv("WAITING_CALLS_PER_ACCOUNT", str(CHATS))
        web = Web(tmp_path / "web.log", "--stop-seconds", "20")
        try:
            web.wait()
            yield SlowlyTalking(web, agent, gateway, token)
        finally:
            web.stop()


def test_more_chats_wait_than_there_are_threads(talking: SlowlyTalking) -> None:
    """The account's limit is the only one that they meet, and what a web process does beside them is quick."""

    async def many() -> tuple[int, list[Any], dict[str, Any]]:
        async with talking.client() as session:
            before = talking.threads()
            asking: list[asyncio.Task[tuple[int, str]]] = []
            for _ in range(CHATS // 10):  # not all at once: a slow machine would refuse to queue them
                asking += [asyncio.create_task(_whole(talking, session)) for _ in range(5)]
                asking += [asyncio.create_task(_streamed(talking, session)) for _ in range(5)]
                await talking.wait_for(open=len(asking))
            grown = talking.threads() - before
            async with session.get("/agents") as answer:
                assert answer.status == 200
            async with talking.chat(session) as answer:
                refused = {"status": answer.status, "retry": answer.headers["Retry-After"], **await answer.json()}
            talking.gateway.release()
            return grown, await asyncio.gather(*asking), refused

    grown, said, refused = asyncio.run(many())
    assert said == [(200, "hi")] * CHATS
    assert grown < 60  # the threads that run requests; they would be as many as the chats otherwise
    assert (refused["status"], refused["error"], refused["retry"]) == (503, "INTERNAL", "10")
    assert refused["message"].startswith(f"{CHATS} calls of this account are waiting")


@pytest.mark.parametrize("headers", [{}, STREAMED])
def test_a_client_that_hangs_up_ends_its_turn(talking: SlowlyTalking, headers: dict[str, str]) -> None:
    async def hang_up() -> None:
        async with talking.client() as session:
            asking = asyncio.create_task(_read(talking, session, headers))
            await talking.wait_for(open=1)
            asking.cancel()
        await talking.wait_for(open=0)

    asyncio.run(hang_up())
    assert talking.gateway.left == 1


def test_a_refused_turn_is_told_as_by_any_call(talking: SlowlyTalking) -> None:
    """Its headers too: a help link, the request's id, and when to come again."""

    async def ask(headers: dict[str, str]) -> tuple[int, Mapping[str, str], str]:
        async with talking.client() as session, talking.chat(session, **headers) as answer:
            return answer.status, answer.headers, await answer.text()

    talking.gateway.fails = "the engine died"
    for headers in ({}, STREAMED):
        status, told, body = asyncio.run(ask(headers))
        assert (status, told["Content-Type"], told["Retry-After"]) == (503, "application/json", "10")
        assert json.loads(body)["message"].startswith("engine: the engine died; GET /agents/{id}/explain")
        assert told["Link"].endswith('rel="help"')
        assert told["Request-Id"].startswith("req_")
        assert "X-Accel-Buffering" not in told
    log = talking.web.log.read_text()
    assert log.count(f"Service Unavailable: /agents/{talking.agent.pk}/chat") == 2


@pytest.mark.parametrize("headers", [{}, STREAMED])
def test_a_turn_ends_well_while_its_process_stops(talking: SlowlyTalking, headers: dict[str, str]) -> None:
    async def stop() -> str:
        async with talking.client() as session:
            asking = asyncio.create_task(_read(talking, session, headers))
            await talking.wait_for(open=1)
            talking.web.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(1)
            talking.gateway.release()
            return await asking

    assert '"reply": "hi"' in asyncio.run(stop()).replace('":"', '": "')


async def _read(talking: SlowlyTalking, session: aiohttp.ClientSession, headers: dict[str, str]) -> str:
    async with talking.chat(session, **headers) as answer:
        text: str = await answer.text()
        return text


async def _whole(talking: SlowlyTalking, session: aiohttp.ClientSession) -> tuple[int, str]:
    async with talking.chat(session) as answer:
        return answer.status, (await answer.json())["reply"]


async def _streamed(talking: SlowlyTalking, session: aiohttp.ClientSession) -> tuple[int, str]:
    async with talking.chat(session, **STREAMED) as answer:
        last = (await answer.text()).strip().split("\n\n")[-1]
        name, data = last.split("\ndata: ")
        assert name == "event: done"
        return answer.status, json.loads(data)["reply"]
