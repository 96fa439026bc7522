"""Starts and ends the gateway's three listeners, which run in one process."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable
from contextlib import AsyncExitStack

import aiohttp
from aiohttp import web

from agents.pod.gateway import backups, dashboard, tls
from agents.pod.gateway.a2a.tasks import Tasks
from agents.pod.gateway.backups import BackupCalls
from agents.pod.gateway.bridge import Bridge
from agents.pod.gateway.egress.broker import EgressBroker
from agents.pod.gateway.egress.door import DoorSite
from agents.pod.gateway.llm import proxy
from agents.pod.gateway.llm.log import ModelLog
from agents.pod.gateway.llm.tool_services import ToolServices
from agents.pod.gateway.log_pages import LogPages
from agents.pod.gateway.logs import Collector, PodLog, PodLogHandler
from agents.pod.gateway.management import Management
from agents.pod.gateway.peers.calls import Peers
from agents.pod.gateway.peers.mcp import PeersServer
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.public import Public
from agents.pod.gateway.spending.meter import Meter
from agents.pod.gateway.talk_test import PodTalkTest
from agents.pod.gateway.turns import GatewayTurns

log = logging.getLogger(__name__)

# A turn that still runs this many seconds after the gateway must end is cut off.
GRACE_SECONDS = 2.0
# If a gateway has not reported for five times this long, the runtime takes it for hung.
REPORT_SECONDS = 3.0
LINE_BYTES = 4 * 1024 * 1024


async def serve(pod: Pod, ended: Awaitable[object]) -> None:
    """Serve until `ended` returns."""
    start = pod.start
    async with AsyncExitStack() as stack:
        pod_log = _pod_log(stack, pod)
        inside = await stack.enter_async_context(_bridge_client())
        stack.push_async_callback(Collector(inside, pod, pod_log).finish)
        outside = await stack.enter_async_context(proxy.client())
        models = ModelLog()
        bridge = Bridge(inside, url=start.bridge_url, token=start.bridge_token)
        meter = Meter(pod)
        stack.callback(meter.close)
        turns = GatewayTurns(pod, bridge, models, meter.turns, meter.replay, meter.keys)
        tasks = Tasks(turns)
        kept = BackupCalls(pod, bridge, await stack.enter_async_context(backups.client()))
        peers = PeersServer(pod, Peers(pod, tasks, turns))
        besides = [*kept.routes(), *ToolServices(pod, outside).routes()]
        inner = proxy.KeyProxy(pod, models, meter, outside).app(peers, besides)
        broker = EgressBroker(pod, meter.clock.day)
        stack.push_async_callback(broker.close)
        await _listen(stack, inner, start.llm_host, start.llm_port, broker=broker)
        test = PodTalkTest(pod, bridge, turns, inside)
        management = Management(pod, bridge, turns, models, test, LogPages(pod_log), kept, meter).app(broker.book)
        await _listen(stack, management, start.host, start.management_port, tls.server_context(start.identity))
        pages = dashboard.proxy_for(pod, await stack.enter_async_context(dashboard.client()))
        await _listen(stack, Public(pod, bridge, turns, tasks, pages).app(), start.host, start.public_port)
        loops = [asyncio.create_task(_report(pod)), asyncio.create_task(meter.keep())]
        await ended
        log.info("the gateway stops")
        for loop in loops:
            loop.cancel()


def _pod_log(stack: AsyncExitStack, pod: Pod) -> PodLog:
    """The pod's log. From now on it also takes the gateway's own log lines."""
    kept = PodLog(pod)
    handler = PodLogHandler(kept)
    logging.getLogger().addHandler(handler)
    stack.callback(logging.getLogger().removeHandler, handler)
    log.info("the gateway runs")
    return kept


def _bridge_client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=LINE_BYTES,
        trust_env=False,
    )


async def _listen(
    stack: AsyncExitStack,
    app: web.Application,
    host: str,
    port: int,
    context: ssl.SSLContext | None = None,
    broker: EgressBroker | None = None,
) -> None:
    app.on_response_prepare.append(_no_server_name)
    # If a caller disconnects, aiohttp cancels the handler, and this ends the turn or the model call.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=GRACE_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = DoorSite(runner, broker, host, port) if broker else web.TCPSite(runner, host, port, ssl_context=context)
    await site.start()


async def _no_server_name(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)


async def _report(pod: Pod) -> None:
    """Report again and again. The runtime recognises a hung gateway by the age of its last report."""
    while True:
        pod.report()
        await asyncio.sleep(REPORT_SECONDS)
