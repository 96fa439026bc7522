"""A thousand simultaneous chats with slow pods, by one web process: each gets its reply, and none takes a thread."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

import aiohttp
import psutil
from django.utils import timezone

from agents import creation
from agents.models import Agent, Desired, Status
from agents.runtimes import certificates
from agents.runtimes.base import Identity
from benchmarks import customers, processes
from benchmarks.customers import Customer
from benchmarks.figures import Figure
from benchmarks.processes import Program
from tests.doubles import slow_gateway
from tests.doubles.slow_gateway import SlowGateway

CHATS = 1_000
EACH = 4  # WAITING_CALLS_PER_ACCOUNT as it is
STEP = 10  # accounts that begin at once: more at a time would measure the queue before the threads
GIVE_UP_SECONDS = 300.0
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class WaitingChats:
    replies: list[tuple[int, str]]
    waiting: int  # of them, at the same time
    threads: tuple[int, int]
    memory: tuple[int, int]
    cpu: float
    seconds: float  # until all of them waited at their pods


def measure() -> list[Figure]:
    identity = certificates.make()
    bearers = [(customer.bearer, _agent(customer, identity)) for customer in customers.some(CHATS // EACH)]
    with SlowGateway(identity) as gateway:
        environment = {
            "AGENT_RUNTIME": "tests.doubles.slow_gateway.SlowPodsRuntime",
            slow_gateway.ADDRESS: gateway.url,
        }
        with processes.web(**environment) as server:
            seen = asyncio.run(_chats(server, gateway, bearers))
    well = sum(reply == (200, "hi") for reply in seen.replies)
    before, at_most = seen.threads
    each = (seen.memory[1] - seen.memory[0]) / max(seen.waiting, 1) / 1_000
    return [
        Figure(f"{CHATS:,} chats at once: answered", well, "chats", f"{CHATS:,}", well == CHATS, _how(seen)),
        Figure("Chats: threads more than at rest", at_most - before, "threads", "<= 60", at_most - before <= 60, ""),
        Figure("Chats: memory of one that waits", each, "kB", "reported", None, ""),
    ]


def _how(seen: WaitingChats) -> str:
    return f"no baseline; {seen.cpu:.1f} s of web's CPU, all of them at their pods after {seen.seconds:.0f} s"


def _agent(customer: Customer, identity: Identity) -> str:
    """An agent that runs, with the certificate of the slow gateway."""
    wanted = creation.NewAgent(persona_id="exam-coach", tier="small")
    agent = creation.create(customer.user, wanted, actor="benchmark")[0]
    Agent.objects.filter(pk=agent.pk).update(
        status=Status.RUNNING,
        desired=Desired.RUNNING,
        status_since=timezone.now(),
        gateway_key=identity.key,
        gateway_certificate=identity.certificate,
        management_token="token",
        reconcile_at=None,
    )
    return agent.pk


async def _chats(server: Program, gateway: SlowGateway, bearers: list[tuple[str, str]]) -> WaitingChats:
    web = _web(server)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}", connector=connector) as session:
        await asyncio.gather(*[_listed(session, bearer) for bearer, _ in bearers[:100]])  # a warm process
        threads, memory = web.num_threads(), web.memory_info().rss
        begun, cpu = time.monotonic(), server.cpu_seconds()
        asking: list[asyncio.Task[tuple[int, str]]] = []
        for start in range(0, len(bearers), STEP):
            step = bearers[start : start + STEP]
            asking += [asyncio.create_task(_chat(session, *one)) for one in step for _ in range(EACH)]
            await asyncio.to_thread(_wait_for, gateway, len(asking))
        waited = time.monotonic() - begun
        waiting = gateway.open
        grown, larger = web.num_threads(), web.memory_info().rss
        gateway.release()
        replies = await asyncio.gather(*asking)
    return WaitingChats(replies, waiting, (threads, grown), (memory, larger), server.cpu_seconds() - cpu, waited)


def _wait_for(gateway: SlowGateway, chats: int) -> None:
    until = time.monotonic() + GIVE_UP_SECONDS / 2
    while gateway.open < chats and time.monotonic() < until:
        time.sleep(0.05)


def _web(server: Program) -> psutil.Process:
    """The process that answers requests: granian's child."""
    tree = psutil.Process(server.pid).children(recursive=True)
    return max(tree or [psutil.Process(server.pid)], key=lambda one: one.memory_info().rss)


async def _listed(session: aiohttp.ClientSession, bearer: str) -> None:
    async with session.get("/agents", headers={"Authorization": bearer}) as answer:
        await answer.read()


async def _chat(session: aiohttp.ClientSession, bearer: str, agent: str) -> tuple[int, str]:
    timeout = aiohttp.ClientTimeout(total=GIVE_UP_SECONDS)
    said, headers = {"message": "hi"}, {"Authorization": bearer}
    async with session.post(f"/agents/{agent}/chat", json=said, headers=headers, timeout=timeout) as answer:
        body = json.loads(await answer.read())
        return answer.status, body.get("reply", body.get("message"))
