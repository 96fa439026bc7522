"""STREAMS: ten thousand followers of events, by one web process: what they cost at rest, and what others notice."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from functools import partial

import psutil
from django.utils import timezone

from agents import creation
from agents.models import Agent
from benchmarks import customers, processes
from benchmarks.customers import Customer
from benchmarks.figures import Figure
from benchmarks.processes import Program
from webhooks import events
from webhooks.event_types import EventType

STREAMS = 10_000
EACH = 16  # of one account in one process (config/waiting.py)
STEP = 50  # streams that begin at once
BEGIN_SECONDS = 60.0  # for one step
CALM_SECONDS = 300.0
LOOK_SECONDS = 5.0
REST_SECONDS = 60.0
MEMORY_LIMIT_MB, CPU_LIMIT, SLOWER_LIMIT, NEWS_LIMIT_SECONDS = 500.0, 100.0, 1.5, 3.0
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Streaming:
    begun: int
    megabytes: float  # more than before
    cpu: float  # percent of a core, while nothing happens
    p99: tuple[float, float]  # of `GET /agents` in milliseconds, without and with the streams
    news: float  # seconds until all followers of an account have its event
    seconds: float  # until all streams had begun


class Follower(asyncio.Protocol):
    """Keeps no more of what comes than whether it began, and whether the event came."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.begun, self.told = asyncio.Event(), asyncio.Event()
        self.refusal = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.begun.is_set():
            self.refusal = b"" if data.startswith(b"HTTP/1.1 200") else data
            self.begun.set()
        if b"event: " in data:
            self.told.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.refusal = self.refusal or b"closed"
        self.begun.set()


def measure() -> list[Figure]:
    people = customers.some(-(-STREAMS // EACH))
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small")
    agent = creation.create(people[0].user, wanted, actor="benchmark")[0]
    with processes.web() as server:
        seen = asyncio.run(_streams(server, people, agent))
    return verdicts(seen)


def verdicts(seen: Streaming) -> list[Figure]:
    slower = seen.p99[1] / seen.p99[0]
    how = f"no baseline; all of them after {seen.seconds:.0f} s"
    p99 = f"{seen.p99[0]:.1f} ms without, {seen.p99[1]:.1f} ms with them"
    return [
        Figure(f"{STREAMS:,} streams: open", seen.begun, "streams", f"{STREAMS:,}", seen.begun == STREAMS, how),
        Figure(
            "Streams: memory", seen.megabytes, "MB", f"<= {MEMORY_LIMIT_MB:g}", seen.megabytes <= MEMORY_LIMIT_MB, ""
        ),
        Figure("Streams: web's CPU at rest", seen.cpu, "% of a core", f"<= {CPU_LIMIT:g}", seen.cpu <= CPU_LIMIT, ""),
        Figure("Streams: GET /agents, p99", slower, "x", f"<= {SLOWER_LIMIT:g}", slower <= SLOWER_LIMIT, p99),
        Figure(
            "Streams: an event at all 16",
            seen.news,
            "s",
            f"<= {NEWS_LIMIT_SECONDS:g}",
            seen.news <= NEWS_LIMIT_SECONDS,
            "",
        ),
    ]


async def _streams(server: Program, people: list[Customer], agent: Agent) -> Streaming:
    web = max(psutil.Process(server.pid).children(recursive=True), key=lambda one: one.memory_info().rss)
    await _reads(server, people[0])  # a warm process
    alone = await _reads(server, people[0])
    memory, begun = web.memory_info().rss, time.monotonic()
    followers = await _begun(server, people)
    await _until_calm(server)  # each of them has read what there is
    seconds = time.monotonic() - begun
    cpu = server.cpu_seconds()
    await asyncio.sleep(REST_SECONDS)
    at_rest = (server.cpu_seconds() - cpu) / REST_SECONDS * 100
    beside = await _reads(server, people[0])
    grown = (web.memory_info().rss - memory) / MB
    news = await _news(agent, followers[:EACH])
    well = sum(not one.refusal for one in followers)
    return Streaming(well, grown, at_rest, (alone, beside), news, seconds)


async def _begun(server: Program, people: list[Customer]) -> list[Follower]:
    followers: list[Follower] = []
    loop = asyncio.get_running_loop()
    bearers = [people[number // EACH].bearer for number in range(STREAMS)]
    for start in range(0, STREAMS, STEP):
        step = [Follower(_request(bearer)) for bearer in bearers[start : start + STEP]]
        for follower in step:
            await loop.create_connection(partial(_same, follower), "127.0.0.1", server.port)
        async with asyncio.timeout(BEGIN_SECONDS):
            await asyncio.gather(*[follower.begun.wait() for follower in step])
        followers += step
    return followers


async def _until_calm(server: Program) -> None:
    async with asyncio.timeout(CALM_SECONDS):
        while True:
            cpu = server.cpu_seconds()
            await asyncio.sleep(LOOK_SECONDS)
            if server.cpu_seconds() - cpu < LOOK_SECONDS / 2:
                return


def _same(follower: Follower) -> Follower:
    return follower


def _request(bearer: str) -> bytes:
    lines = ("GET /events HTTP/1.1", "Host: localhost", f"Authorization: {bearer}", "Accept: text/event-stream")
    return "\r\n".join([*lines, "", ""]).encode()


async def _reads(server: Program, customer: Customer) -> float:
    """The 99th percentile of reads, in milliseconds. The process that holds the followers would measure itself."""
    command = [sys.executable, "-m", "benchmarks.one_reader", str(server.port), customer.bearer]
    run = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    return float((await run.communicate())[0])


async def _news(agent: Agent, followers: list[Follower]) -> float:
    for follower in followers:
        follower.told.clear()
    begun = time.monotonic()
    await asyncio.to_thread(events.emit, agent, EventType.TEST, {}, now=timezone.now())
    await asyncio.gather(*[asyncio.wait_for(follower.told.wait(), BEGIN_SECONDS) for follower in followers])
    return time.monotonic() - begun
