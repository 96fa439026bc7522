"""WebSockets of the engine's own page: only for its reader, only from the engine's page, only while he is signed in."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from agents.engines.openclaw_dashboard import proof
from agents.pod.gateway import sockets
from agents.pod.gateway.sockets import MESSAGE_BYTES, MOST_SOCKETS
from tests.agents.pod.bridge.process import eventually
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.visitor import PASSWORD, cookie_of, get, post
from tests.doubles.engine_page import PASSWORD as ENGINE_PASSWORD
from tests.doubles.engine_socket import EngineSocket

pytestmark = pytest.mark.sampled

PATH = "/openclaw"
Line = aiohttp.ClientWebSocketResponse


@pytest.fixture
def engine() -> Iterator[EngineSocket]:
    with EngineSocket(PATH) as double:
        yield double


@pytest.fixture
def pod(start_gateway: StartGateway, engine: EngineSocket) -> GatewayProcess:
    return start_gateway(engine="openclaw", engine_url=engine.url, engine_password=ENGINE_PASSWORD, **PASSWORD)


@asynccontextmanager
async def line(pod: GatewayProcess, path: str = PATH, **headers: str) -> AsyncIterator[Line]:
    """Open a WebSocket as a browser on the pod's own page does. `headers` replace the browser's."""
    own = {"Origin": pod.public, **headers}
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(pod.public + path, headers=own, compress=15, max_msg_size=0, autoclose=False) as opened,
    ):
        yield opened


def with_a_line(pod: GatewayProcess, use: Callable[[Line], Awaitable[Any]], **headers: str) -> Any:
    async def run() -> Any:
        async with line(pod, **{"Cookie": cookie_of(pod), **headers}) as opened:
            return await use(opened)

    return asyncio.run(run())


def refusal(pod: GatewayProcess, path: str = PATH, **headers: str) -> int:
    async def run() -> int:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with line(pod, path, **headers):
                pass
        return refused.value.status

    return asyncio.run(run())


async def _end(opened: Line) -> int | None:
    message = await opened.receive(timeout=20)
    assert message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSING}, message
    return opened.close_code


def test_messages_go_both_ways_as_they_are(pod: GatewayProcess, engine: EngineSocket) -> None:
    async def talk(opened: Line) -> None:
        for text in ("hello", "Grüße 🦞", "", "x" * 100_000):
            await opened.send_str(text)
            assert await opened.receive_str(timeout=10) == f"you said {text}"
        await opened.send_bytes(b"\x00\xff")
        assert await opened.receive_bytes(timeout=10) == b"\x00\xff"

    with_a_line(pod, talk)


def test_the_engine_hears_of_a_reader_that_it_may_trust_and_nothing_of_his_login(
    pod: GatewayProcess, engine: EngineSocket
) -> None:
    async def talk(opened: Line) -> None:
        await opened.send_str("hello")
        await opened.receive_str(timeout=10)

    forged = {"X-Openclaw-Scopes": "operator.admin", "X-Agentpods-Reader": "root", "X-Forwarded-For": "127.0.0.1"}
    with_a_line(pod, talk, Authorization="Bearer of-the-visitor", **forged)
    seen = engine.opened[-1]
    assert seen[f"x-pod-{proof(ENGINE_PASSWORD)}"] == "1"
    assert seen["x-agentpods-reader"] == "owner"
    assert "operator.read" in seen["x-openclaw-scopes"]
    assert "operator.admin" not in seen["x-openclaw-scopes"]
    assert seen["x-forwarded-for"] != "127.0.0.1"
    assert not {"cookie", "authorization"} & set(seen)
    assert "sec-websocket-extensions" not in seen  # nothing is compressed, so no message grows when it is unpacked
    assert ENGINE_PASSWORD not in str(seen)


def test_a_stranger_and_another_sites_page_open_none(pod: GatewayProcess, engine: EngineSocket) -> None:
    cookie = cookie_of(pod)
    assert refusal(pod) == 404
    assert refusal(pod, Cookie="agent-pod-0123456789abcdef-1=forged") == 404
    assert refusal(pod, Cookie=cookie, Origin="https://evil.example") == 403
    assert refusal(pod, Cookie=cookie, Origin="null") == 403
    assert refusal(pod, Cookie=cookie, Origin="") == 403
    assert engine.opened == []


def test_there_is_one_where_the_page_has_it_and_nowhere_else(
    pod: GatewayProcess, engine: EngineSocket, start_gateway: StartGateway
) -> None:
    cookie = cookie_of(pod)
    assert refusal(pod, "/openclaw/chat", Cookie=cookie) == 400
    assert refusal(pod, "/v1/chat/completions", Cookie=cookie) == 403
    assert refusal(pod, "//openclaw", Cookie=cookie) == 400
    other = start_gateway(engine="opencode", engine_url=engine.url, engine_password=ENGINE_PASSWORD)
    assert refusal(other, Cookie=cookie_of(other)) == 400
    assert engine.opened == []


def test_what_is_no_opening_of_a_websocket_is_refused(pod: GatewayProcess, engine: EngineSocket) -> None:
    headers = {"Cookie": cookie_of(pod), "Origin": pod.public, "Upgrade": "websocket"}
    assert get(pod, PATH, **headers).status_code == 400
    assert get(pod, PATH, Connection="Upgrade", **{"Sec-WebSocket-Version": "8"}, **headers).status_code == 400
    assert engine.opened == []


@pytest.mark.parametrize("code", [1000, 1008, 1012, 4001])
def test_the_reader_is_told_how_the_engine_closed(pod: GatewayProcess, code: int) -> None:
    async def ask(opened: Line) -> int | None:
        await opened.send_str(f"close {code}")
        return await _end(opened)

    assert with_a_line(pod, ask) == code


def test_an_engine_that_breaks_off_is_a_close_and_not_a_silence(pod: GatewayProcess) -> None:
    async def ask(opened: Line) -> int | None:
        await opened.send_str("drop")
        return await _end(opened)

    assert with_a_line(pod, ask) == aiohttp.WSCloseCode.GOING_AWAY


@pytest.mark.parametrize("code", [1000, 4002])
def test_the_engine_is_told_how_the_reader_closed(pod: GatewayProcess, engine: EngineSocket, code: int) -> None:
    async def leave(opened: Line) -> None:
        await opened.send_str("hello")
        await opened.receive_str(timeout=10)
        await opened.close(code=code)

    with_a_line(pod, leave)
    eventually(lambda: engine.closed, what="the close")
    assert engine.closed == [code]


def test_a_reader_who_is_gone_is_a_close_for_the_engine(pod: GatewayProcess, engine: EngineSocket) -> None:
    async def vanish(opened: Line) -> None:
        await opened.send_str("hello")
        await opened.receive_str(timeout=10)
        transport = opened._response.connection.transport if opened._response.connection else None
        assert transport
        transport.abort()

    with_a_line(pod, vanish)
    eventually(lambda: engine.closed, what="the close")


def test_who_signs_out_loses_his_connection_at_once(pod: GatewayProcess, engine: EngineSocket) -> None:
    cookie = cookie_of(pod)

    async def sign_out(opened: Line) -> int | None:
        await opened.send_str("hello")
        await opened.receive_str(timeout=10)
        left = await asyncio.to_thread(post, pod, "/logout", cookie=cookie)
        assert left.status_code == 303
        return await _end(opened)

    assert with_a_line(pod, sign_out, Cookie=cookie) == aiohttp.WSCloseCode.POLICY_VIOLATION
    eventually(lambda: engine.closed, what="the close")


def test_new_credentials_end_the_connections_of_the_old_ones(pod: GatewayProcess) -> None:
    async def change(opened: Line) -> int | None:
        await opened.send_str("hello")
        await opened.receive_str(timeout=10)
        changed = await asyncio.to_thread(pod.configure, dash_password="another horse")
        assert changed.ok
        return await _end(opened)

    assert with_a_line(pod, change) == aiohttp.WSCloseCode.POLICY_VIOLATION


def test_a_gateway_that_ends_waits_for_no_reader_and_tells_both_sides(
    pod: GatewayProcess, engine: EngineSocket
) -> None:
    async def outlive(opened: Line) -> tuple[int | None, float]:
        await opened.send_str("hello")
        await opened.receive_str(timeout=10)
        started = time.monotonic()
        pod.process.terminate()
        code = await _end(opened)
        await asyncio.to_thread(pod.process.wait, 10)
        return code, time.monotonic() - started

    code, seconds = with_a_line(pod, outlive)
    assert code == aiohttp.WSCloseCode.GOING_AWAY
    assert seconds < 5
    eventually(lambda: engine.closed == [aiohttp.WSCloseCode.GOING_AWAY], what="the close")


def test_a_message_beyond_the_limit_ends_the_connection_from_either_side(
    pod: GatewayProcess, engine: EngineSocket
) -> None:
    async def send(opened: Line) -> int | None:
        with suppress(ConnectionError):  # the gateway does not read the message to its end
            await opened.send_str("x" * (MESSAGE_BYTES + 1), compress=0)
        return await _end(opened)

    async def be_flooded(opened: Line) -> int | None:
        await opened.send_str(f"flood {MESSAGE_BYTES + 1}")
        return await _end(opened)

    assert with_a_line(pod, send) in {aiohttp.WSCloseCode.MESSAGE_TOO_BIG, aiohttp.WSCloseCode.ABNORMAL_CLOSURE}
    assert engine.heard == []
    assert with_a_line(pod, be_flooded) == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
    assert with_a_line(pod, lambda opened: opened.close()) is True  # the next connection works


@pytest.mark.parametrize(("pings", "code"), [(100, None), (50_000, aiohttp.WSCloseCode.GOING_AWAY)])
def test_an_engine_that_sends_nothing_but_pings_is_cut_off(pod: GatewayProcess, pings: int, code: int | None) -> None:
    async def ask(opened: Line) -> int | None:
        await opened.send_str(f"ping {pings}")
        if code is None:
            await opened.send_str("hello")
            assert await opened.receive_str(timeout=10) == "you said hello"
            return None
        return await _end(opened)

    assert with_a_line(pod, ask) == code
    assert pod.chat().status_code == 200


def test_a_pod_has_so_many_connections_and_each_that_ends_makes_room(pod: GatewayProcess, engine: EngineSocket) -> None:
    cookie = cookie_of(pod)

    async def fill() -> list[int]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
            headers = {"Cookie": cookie, "Origin": pod.public}
            opened = [await client.ws_connect(pod.public + PATH, headers=headers) for _ in range(MOST_SOCKETS)]
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(pod.public + PATH, headers=headers)
            await opened[0].close()
            await asyncio.sleep(1)
            again = await client.ws_connect(pod.public + PATH, headers=headers)
            for one in (*opened, again):
                await one.close()
            assert refused.value.headers
            return [refused.value.status, int(refused.value.headers["Retry-After"])]

    assert asyncio.run(fill()) == [429, 5]


def test_an_engine_that_takes_none_or_is_gone_is_a_503(pod: GatewayProcess, engine: EngineSocket) -> None:
    cookie = cookie_of(pod)
    engine.takes = False
    assert refusal(pod, Cookie=cookie) == 503
    engine.stop()
    assert refusal(pod, Cookie=cookie) == 503


@pytest.mark.parametrize("path", ["/", "/v1/models", "/api/v1/admin/rpc", "/hooks/agent", "/openclawx"])
def test_of_openclaws_server_its_page_alone_is_shown(pod: GatewayProcess, engine: EngineSocket, path: str) -> None:
    cookie = cookie_of(pod)
    if path != "/":
        assert get(pod, path, Cookie=cookie).status_code == 403
    assert post(pod, f"{PATH}/anything", cookie=cookie).status_code == 403
    assert engine.pages == []
    assert get(pod, "/dashboard", Cookie=cookie).headers["Location"] == f"{PATH}/chat"
    assert get(pod, f"{PATH}/chat", Cookie=cookie).text == "page"


@asynccontextmanager
async def short_lived(engine: EngineSocket, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> AsyncIterator[str]:
    """Only the passage for WebSockets, in this process, with other time limits than usual. Gives its address."""
    for name, value in seconds.items():
        monkeypatch.setattr(sockets, name, value)
    async with aiohttp.ClientSession(auto_decompress=False) as client:
        passage = sockets.Sockets(client)

        async def pass_on(request: web.Request) -> web.StreamResponse:
            return await passage.pass_on(request, URL(engine.url + PATH), {}, may_stay=lambda: True)

        app = web.Application()
        app.router.add_get(PATH, pass_on)
        async with TestServer(app) as server:
            yield str(server.make_url(PATH))


def test_a_connection_on_which_nobody_says_anything_ends(engine: EngineSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait() -> tuple[float, int | None]:
        async with (
            short_lived(engine, monkeypatch, IDLE_SECONDS=1.5, WATCH_SECONDS=0.1) as url,
            aiohttp.ClientSession() as client,
            client.ws_connect(url, autoclose=False) as opened,
        ):
            for _ in range(4):  # a client that sends something in time stays connected
                await asyncio.sleep(0.7)
                await opened.send_str("hello")
                await opened.receive_str(timeout=10)
            started = time.monotonic()
            code = await _end(opened)
            return time.monotonic() - started, code

    seconds, code = asyncio.run(wait())
    assert 1 < seconds < 10
    assert code == aiohttp.WSCloseCode.GOING_AWAY


async def by_hand(url: str) -> asyncio.StreamWriter:
    """A connection whose client reads nothing and answers no ping."""
    at = URL(url)
    assert at.host
    assert at.port
    reader, writer = await asyncio.open_connection(at.host, at.port)
    key = base64.b64encode(b"0123456789abcdef").decode()
    opening = f"GET {PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    writer.write(f"{opening}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    assert b"101" in await reader.readline()
    return writer


def held(url: str) -> list[Any]:
    """The connections of this server, which runs in this process."""
    ours = psutil.Process().net_connections("tcp4")
    return [one for one in ours if one.laddr.port == URL(url).port and one.status != psutil.CONN_LISTEN]


def test_what_a_reader_does_not_read_is_not_kept_for_him(engine: EngineSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A close alone would wait until all is sent, and that is for ever."""

    async def wait() -> None:
        async with short_lived(engine, monkeypatch, IDLE_SECONDS=1.0, WATCH_SECONDS=0.1, CLOSE_SECONDS=0.5) as url:
            writer = await by_hand(url)
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # this transport can read too
            text = f"flood {MESSAGE_BYTES - 1}".encode()
            for _ in range(4):
                writer.write(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
            assert len(held(url)) == 1
            await asyncio.to_thread(eventually, lambda: not held(url), within=20, what="the end")
            writer.transport.abort()

    asyncio.run(wait())


def test_a_reader_who_reads_nothing_and_answers_no_ping_loses_his_connection(
    engine: EngineSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def wait() -> None:
        async with short_lived(engine, monkeypatch, HEARTBEAT_SECONDS=1.0) as url:
            writer = await by_hand(url)
            await asyncio.to_thread(eventually, lambda: engine.closed, within=20, what="the close")
            writer.close()

    asyncio.run(wait())
