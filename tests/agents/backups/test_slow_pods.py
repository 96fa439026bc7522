"""Pods that send slowly on purpose, at the real endpoint process: they do not block other pods."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from agents.backups import credentials
from agents.backups.endpoint import uploads
from agents.backups.endpoint.uploads import Uploads
from tests.agents.backups.killing import Started

HOSTILE = [f"agt_{number:024}" for number in range(6)]
HONEST = "agt_0123456789abcdef01234567"
MB = 1_000_000


def bearer(agent: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credentials.mint(agent, may_add=100 * MB)}"}


async def trickle(session: aiohttp.ClientSession, url: str, agent: str) -> None:
    """Send objects of 20 MB at 100 bytes a second, again and again."""

    async def bytes_of_one() -> object:
        while True:
            yield b"x" * 100
            await asyncio.sleep(1)

    headers = {**bearer(agent), "Content-Length": str(20 * MB)}
    while True:
        try:
            await session.post(f"{url}/{agent}/data/{'0' * 64}", data=bytes_of_one(), headers=headers)
        except aiohttp.ClientError:
            await asyncio.sleep(0.1)


async def send(session: aiohttp.ClientSession, url: str, content: bytes) -> int:
    name = hashlib.sha256(content).hexdigest()
    async with session.post(f"{url}/{HONEST}/data/{name}", data=content, headers=bearer(HONEST)) as answer:
        return answer.status


@pytest.mark.django_db(transaction=True)
def test_pods_that_hold_every_place_with_slow_bodies_hold_up_another_for_seconds_alone(endpoint: Started) -> None:
    url, start = endpoint
    start()

    async def run() -> tuple[float, float]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            slow = [asyncio.create_task(trickle(session, url, agent)) for agent in HOSTILE for _ in range(4)]
            await asyncio.sleep(1)
            begun = time.monotonic()
            assert await send(session, url, b"first") == 200
            first = time.monotonic() - begun
            for number in range(20):
                assert await send(session, url, bytes([number]) * MB) == 200
            last = time.monotonic() - begun
            for one in slow:
                one.cancel()
            await asyncio.gather(*slow, return_exceptions=True)
        return first, last - first

    first, others = asyncio.run(run())
    assert first < uploads.GRACE_SECONDS + 10 * uploads.LOOK_SECONDS
    assert others < 30, "each of them waiting for a place would take 100 seconds"


# The places for uploads, without the endpoint.


def running(body: Callable[[Uploads], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(body(Uploads()), 10))


async def hold(places: Uploads, agent: str, until: asyncio.Event, order: list[str]) -> None:
    async with places.place(agent):
        order.append(agent)
        await until.wait()


def test_a_free_place_is_for_the_agent_that_has_the_fewest() -> None:
    async def body(places: Uploads) -> None:
        over, order = asyncio.Event(), list[str]()
        first = asyncio.Event()
        tasks = [asyncio.create_task(hold(places, "a", first, order))]
        tasks += [
            asyncio.create_task(hold(places, agent, over, order)) for agent in ("a", "a", "b", "b", "b", "c", "c")
        ]
        await asyncio.sleep(0)
        assert len(order) == uploads.UPLOADS
        tasks += [asyncio.create_task(hold(places, agent, over, order)) for agent in "acd"]
        await asyncio.sleep(0)
        first.set()
        await asyncio.sleep(0.01)
        assert order[uploads.UPLOADS :] == ["d"]
        over.set()
        await asyncio.gather(*tasks)
        assert (places.free, places.held, places.waiting) == (uploads.UPLOADS, {}, [])

    running(body)


def test_who_gives_up_waiting_takes_no_place_along() -> None:
    async def body(places: Uploads) -> None:
        over, order = asyncio.Event(), list[str]()
        tasks = [asyncio.create_task(hold(places, f"{number // 3}", over, order)) for number in range(9)]
        await asyncio.sleep(0)
        assert len(places.waiting) == 1
        tasks[-1].cancel()
        await asyncio.sleep(0.01)
        assert places.waiting == []
        tasks[0].cancel()
        await asyncio.sleep(0.01)
        assert places.free == 1
        over.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (places.free, places.held) == (uploads.UPLOADS, {})

    running(body)


def test_an_agent_has_so_many_requests_that_wait_and_no_more() -> None:
    async def body(places: Uploads) -> None:
        over, order = asyncio.Event(), list[str]()
        most = uploads.UPLOADS_EACH + uploads.WAITING_EACH
        tasks = [asyncio.create_task(hold(places, "a", over, order)) for _ in range(most + 5)]
        await asyncio.sleep(0.01)
        assert len(places.waiting) == uploads.WAITING_EACH
        assert sum(task.done() for task in tasks) == 5
        over.set()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [getattr(one, "status", 0) for one in done].count(503) == 5

    running(body)
