"""Caddy in front of test servers: streams, websockets, headers, names, restarts."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from config import settings
from config.run import caddy, programs
from tests.doubles import pebble
from tests.doubles.name_server import NameServer
from tests.ports import free_port

pytestmark = pytest.mark.slow

CONSOLE, AGENT = "console.example.com", "agent.example.org"
Scenario = Callable[["RunningCaddy"], Awaitable[None]]
BY = web.AppKey("by", str)
HEARD = web.AppKey("heard", asyncio.Semaphore)


class RunningCaddy:
    """A running Caddy; `asked` has the names for which Caddy asked permission before it ordered certificates."""

    def __init__(self, port: int, roots: Path) -> None:
        self.port, self.asked = port, list[str]()
        self.heard = asyncio.Semaphore(0)  # released when the other side has received something
        self.tls = ssl.create_default_context(cafile=roots)
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def of(self, name: str, **headers: str) -> dict[str, Any]:
        return {"ssl": self.tls, "server_hostname": name, "headers": {"Host": name, **headers}}


async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    told = {"by": request.app[BY], "headers": dict(request.headers), "bytes": len(body), "path": request.raw_path}
    return web.json_response(told)


async def stream(request: web.Request) -> web.StreamResponse:
    """Send a stream event by event: each only after the visitor has confirmed the one before."""
    response = web.StreamResponse(headers={"Content-Type": request.query.get("type", "text/event-stream")})
    await response.prepare(request)
    for number in range(3):
        await response.write(f"data: {number}\n\n".encode())
        await asyncio.wait_for(request.app[HEARD].acquire(), 10)
    return response


async def upload(request: web.Request) -> web.Response:
    """Confirm the first piece before the rest has arrived."""
    first = await request.content.readany()
    request.app[HEARD].release()
    rest = await request.content.read()
    return web.json_response({"first": len(first), "all": len(first) + len(rest)})


async def socket(request: web.Request) -> web.WebSocketResponse:
    response = web.WebSocketResponse(max_msg_size=0)
    await response.prepare(request)
    async for message in response:
        await response.send_str(message.data[::-1])
    return response


@asynccontextmanager
async def server(name: str, port: int) -> AsyncIterator[web.Application]:
    app = web.Application(client_max_size=0)
    app[BY], app[HEARD] = name, asyncio.Semaphore(0)
    app.router.add_get("/stream", stream)
    app.router.add_get("/socket", socket)
    app.router.add_post("/upload", upload)
    app.router.add_route("*", "/{path:.*}", echo)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield app
    await runner.cleanup()


@pytest.fixture
def front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Scenario], None]]:
    """`front(scenario)` runs the scenario with Caddy, a web server and a router."""
    home = tmp_path / "home"
    (home / "run").mkdir(parents=True)
    with NameServer().listening() as names:
        for name in (CONSOLE, AGENT):
            names.answers(name, ["127.0.0.1"])
        given: dict[str, Any] = {name: free_port() for name in ("PORT", "ROUTER_PORT", "ASK_PORT", "HTTP_PORT")}
        given |= {"HTTPS_PORT": free_port(), "TLS": "auto", "TLS_ADDRESS": "127.0.0.1", "CONSOLE_HOSTS": [CONSOLE]}
        given |= {"AGENTPODS_HOME": home}
        ports = {"http_port": given["HTTP_PORT"], "tls_port": given["HTTPS_PORT"]}
        with pebble.running(tmp_path, names=names.address, **ports) as acme:
            for name, value in (given | {"ACME_DIRECTORY": acme.directory, "ACME_ROOTS": str(acme.roots)}).items():
                monkeypatch.setattr(settings, name, value)
            yield lambda scenario: asyncio.run(_beside(scenario, home, acme.roots))


async def _beside(scenario: Scenario, home: Path, roots: Path) -> None:
    caddy.configuration_file(home).write_text(caddy.configuration(home, token="t"), encoding="utf-8")
    (program,) = programs._caddy()
    front = RunningCaddy(settings.HTTPS_PORT, roots)

    async def ask(request: web.Request) -> web.Response:
        front.asked.append(request.query["domain"])
        return web.Response(status=200 if request.query["domain"] in {CONSOLE, AGENT} else 403)

    asking = web.Application()
    asking.router.add_get("/t", ask)
    runner = web.AppRunner(asking)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", settings.ASK_PORT).start()
    with (home / "caddy.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*program.command, stdout=log, stderr=log)
    try:
        async with server("web", settings.PORT), server("router", settings.ROUTER_PORT) as router, front.session:
            front.heard = router[HEARD]
            for _ in range(100):
                try:
                    await front.session.get(front.url("/"), **front.of(AGENT))
                    break
                except aiohttp.ClientConnectorError:
                    await asyncio.sleep(0.1)
            await scenario(front)
    finally:
        process.terminate()
        await process.wait()
        await runner.cleanup()


def test_visitors_of_the_console_go_to_web_and_all_others_to_the_router(front: Callable[[Scenario], None]) -> None:
    async def scenario(front: RunningCaddy) -> None:
        forged = {
            "X-Forwarded-For": "8.8.8.8",
            "X-Forwarded-Proto": "http",
            "X-Forwarded-Host": "evil",
            "X-Real-IP": "8",
        }
        for name, by in ((CONSOLE, "web"), (AGENT, "router")):
            async with front.session.get(front.url("/a%2Fb?x=1%20"), **front.of(name, **forged)) as reply:
                told = await reply.json()
            assert (told["by"], told["path"]) == (by, "/a%2Fb?x=1%20")
            assert told["headers"]["X-Forwarded-For"] == "127.0.0.1"
            assert (told["headers"]["X-Forwarded-Proto"], told["headers"]["X-Forwarded-Host"]) == ("https", name)
            assert told["headers"]["Host"] == name
        assert sorted(set(front.asked)) == [AGENT, CONSOLE]
        assert len(front.asked) <= 4

    front(scenario)


def test_streams_pass_piece_by_piece_both_ways(front: Callable[[Scenario], None]) -> None:
    async def scenario(front: RunningCaddy) -> None:
        heard = front.heard
        for kind in ("text/event-stream", "application/octet-stream"):
            async with front.session.get(front.url(f"/stream?type={kind}"), **front.of(AGENT)) as reply:
                for number in range(3):
                    piece = await asyncio.wait_for(reply.content.readuntil(b"\n\n"), 10)
                    assert piece == f"data: {number}\n\n".encode()
                    heard.release()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"x" * 1000
            await asyncio.wait_for(heard.acquire(), 10)
            for _ in range(64):
                yield b"y" * 1_000_000

        async with front.session.post(front.url("/upload"), data=pieces(), **front.of(AGENT)) as reply:
            assert (await reply.json())["all"] == 64_001_000

    front(scenario)


def test_websockets_pass(front: Callable[[Scenario], None]) -> None:
    async def scenario(front: RunningCaddy) -> None:
        async with front.session.ws_connect(front.url("/socket"), **front.of(AGENT)) as visitor:
            await visitor.send_str("abc" * 100_000)
            assert await visitor.receive_str(timeout=10) == "cba" * 100_000

    front(scenario)


def test_slow_and_huge_headers_are_not_waited_for(
    front: Callable[[Scenario], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caddy, "HEADER_SECONDS", 1)

    async def scenario(front: RunningCaddy) -> None:
        async with front.session.get(front.url("/"), **front.of(AGENT, X="x" * 60_000)) as reply:
            assert reply.status == 431
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port, ssl=front.tls, server_hostname=AGENT)
        writer.write(b"GET / HTTP/1.1\r\n")
        began = time.monotonic()
        await asyncio.wait_for(reader.read(), 10)
        assert time.monotonic() - began < 5
        writer.close()

    front(scenario)


def test_while_web_is_away_its_clients_are_told_to_come_again(
    front: Callable[[Scenario], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caddy, "DIAL_SECONDS", 1)
    passed_on, nowhere = caddy._passed_on, free_port()
    monkeypatch.setattr(caddy, "_passed_on", lambda port: passed_on(nowhere if port == settings.PORT else port))

    async def scenario(front: RunningCaddy) -> None:
        async with front.session.get(front.url("/health"), **front.of(CONSOLE)) as reply:
            assert (reply.status, reply.headers["Retry-After"]) == (503, "10")
            assert (await reply.json(content_type=None))["error"] == "INTERNAL"

    front(scenario)
