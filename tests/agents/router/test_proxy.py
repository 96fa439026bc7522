"""The router between a real client and a real pod listener."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import ip_network
from typing import Any

import aiohttp
import psycopg
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from django.conf import settings

from agents.domains import claims
from agents.domains.records import DnsAnswers
from agents.models import Agent, Desired, Reason, Status
from agents.router.addresses import FRESH_SECONDS
from agents.router.proxy import SERVING, application
from tests.workers import database_url

Scenario = Callable[[TestClient[Any, Any], "ListenerPod"], Awaitable[None]]


class ListenerPod:
    """A pod's public listener that answers with the request it got."""

    def __init__(self) -> None:
        self.seen: list[web.Request] = []
        self.gone = asyncio.Event()

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/socket", self._socket)
        app.router.add_get("/stream", self._stream)
        app.router.add_get("/half", self._half)
        app.router.add_get("/flood", self._flood)
        app.router.add_get("/refuses", self._refuses)
        app.router.add_route("*", "/{path:.*}", self._echo)
        return app

    async def _echo(self, request: web.Request) -> web.Response:
        self.seen.append(request)
        body = {"path": request.raw_path, "method": request.method, "body": await request.text()}
        reply = web.json_response(body | {"headers": dict(request.headers)}, status=207, headers={"X-Pod": "yes"})
        reply.headers.add("Set-Cookie", "agent=1; Path=/")
        reply.headers.add("Set-Cookie", "session=stolen; Path=/")
        return reply

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        await reply.write(b"data: one\n\n")
        try:
            await asyncio.sleep(60)
        finally:
            self.gone.set()
        return reply

    async def _half(self, request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse()
        await reply.prepare(request)
        await reply.write(b"half")
        assert request.transport
        request.transport.abort()
        return reply

    async def _flood(self, request: web.Request) -> web.StreamResponse:
        """Sends more than any buffer can hold."""
        if request.headers.get("Upgrade"):
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            try:
                for _ in range(64):
                    await socket.send_bytes(bytes(1024 * 1024))
            finally:
                self.gone.set()
            return socket
        return web.Response(body=bytes(64 * 1024 * 1024))

    async def _refuses(self, request: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": "5"})

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=["chat"])
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(f"you said {message.data}")
            if message.data == "bye":
                await socket.close(code=4000)
        return socket


def between(agent: Agent, scenario: Scenario, **changes: Any) -> None:
    """Run a scenario with a client in front of the router and a pod of the agent behind it."""

    async def run() -> None:
        pod = ListenerPod()
        async with TestServer(pod.app()) as listener:
            endpoint = str(listener.make_url("")).rstrip("/")
            await Agent.objects.filter(pk=agent.pk).aupdate(**({"endpoint_url": endpoint} | changes))
            router = TestServer(application())
            await router.start_server(**SERVING)
            async with TestClient(router, auto_decompress=False) as client:
                await scenario(client, pod)

    asyncio.run(run())


def test_an_agents_hostname_leads_to_its_pod(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.post("/a%2Fb?x=1%20", headers={"Host": host.upper()}, data=b"hello") as reply:
            assert (reply.status, reply.headers["X-Pod"]) == (207, "yes")
            told = await reply.json()
        assert (told["method"], told["path"], told["body"]) == ("POST", "/a%2Fb?x=1%20", "hello")
        assert told["headers"]["Host"] == host.upper()
        assert told["headers"]["X-Forwarded-Proto"] == "http"
        assert told["headers"]["X-Forwarded-For"] == "127.0.0.1"

    between(running, scenario)


def test_a_customers_own_domain_leads_to_its_pod_once_it_is_proved(host: str, running: Agent) -> None:
    def seen(*texts: str) -> DnsAnswers:
        return DnsAnswers(addresses=(), texts=frozenset(texts))

    async def status(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/", headers={"Host": "agent.customer.example"}) as reply:
            statuses.append(reply.status)

    statuses: list[int] = []
    claims.claim(running, "agent.customer.example", seen=seen(), actor="user:x")
    between(running, status)
    claims.claim(running, "agent.customer.example", seen=seen(claims.value_of(running.user_id)), actor="user:x")
    between(running, status)
    claims.release(running, actor="user:x")
    between(running, status)
    assert statuses == [404, 207, 404]


def test_the_consoles_cookies_stay_outside_of_pods(host: str, running: Agent) -> None:
    own = "session=a; __Host-session=b; csrf=c; agentpods-account=d; __Host-agentpods-account=e; agentpods-lang=ru"
    cookies = f"{own}; theme=dark; agent=1"

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/", headers={"Host": host, "Cookie": cookies}) as reply:
            assert (await reply.json())["headers"]["Cookie"] == "theme=dark; agent=1"
            assert reply.headers.getall("Set-Cookie") == ["agent=1; Path=/"]

    between(running, scenario)


def test_a_visitor_cannot_say_where_they_come_from(host: str, running: Agent) -> None:
    claims = {"X-Forwarded-For": "8.8.8.8", "X-Forwarded-Proto": "https", "X-Real-IP": "8.8.8.8", "Forwarded": "for=x"}

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/", headers={"Host": host, **claims}) as reply:
            told = (await reply.json())["headers"]
        assert (told["X-Forwarded-For"], told["X-Forwarded-Proto"]) == ("127.0.0.1", "http")
        assert not {"X-Real-IP", "Forwarded"} & set(told)

    between(running, scenario)


def test_a_trusted_proxy_may_say_it(host: str, running: Agent, settings: Any) -> None:
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        claims = {"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "https"}
        async with client.get("/", headers={"Host": host, **claims}) as reply:
            told = (await reply.json())["headers"]
        assert (told["X-Forwarded-For"], told["X-Forwarded-Proto"]) == ("198.51.100.7, 127.0.0.1", "https")

    between(running, scenario)


def test_a_stream_arrives_as_it_is_written_and_ends_with_its_reader(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/stream", headers={"Host": host}) as reply:
            assert await asyncio.wait_for(reply.content.readline(), 5) == b"data: one\n"
        await asyncio.wait_for(pod.gone.wait(), 5)

    between(running, scenario)


def test_half_a_reply_does_not_look_like_a_whole_one(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/half", headers={"Host": host}) as reply:
            with pytest.raises(aiohttp.ClientError):
                await reply.read()

    between(running, scenario)


def test_a_websocket_goes_both_ways_and_closes_with_its_code(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.ws_connect("/socket", headers={"Host": host}, protocols=["chat"]) as socket:
            assert socket.protocol == "chat"
            await socket.send_str("hello")
            assert await socket.receive_str(timeout=5) == "you said hello"
            await socket.send_str("bye")
            assert await socket.receive_str(timeout=5) == "you said bye"
            assert (await socket.receive(timeout=5)).type == aiohttp.WSMsgType.CLOSE
            assert socket.close_code == 4000

    between(running, scenario)


@pytest.mark.parametrize("path", ["/", "/socket"])
def test_a_pod_that_does_not_listen_is_a_503_page(host: str, running: Agent, path: str) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"} if path == "/socket" else {}

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get(path, headers={"Host": host, **upgrade}) as reply:
            assert (reply.status, reply.content_type) == (503, "text/html")
            assert reply.headers["Retry-After"]

    between(running, scenario, endpoint_url="http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("changes", "status", "state"),
    [
        ({"status": Status.STOPPED, "operation": Reason.OWNER}, 503, "stopped"),
        ({"status": Status.STOPPED, "operation": Reason.PAYMENT}, 503, "stopped"),
        ({"status": Status.PROVISIONING}, 503, "starting"),
        ({"status": Status.FAILED}, 503, "failed"),
        ({"desired": Desired.DELETED}, 404, "gone"),
    ],
)
def test_an_agent_that_is_not_running_has_a_page_that_says_so(
    host: str, running: Agent, changes: dict[str, str], status: int, state: str
) -> None:
    """A visitor sees that the agent is stopped, but not the owner's reason."""

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/", headers={"Host": host}) as reply:
            assert (reply.status, reply.content_type) == (status, "text/html")
            assert reply.headers["Agent-State"] == state
            page = await reply.text()
            assert "paid" not in page
            assert (f'href="{settings.BASE_URL}/account"' in page, running.id in page) == (status == 503, False)
        assert not pod.seen

    between(running, scenario, **changes)


def test_while_the_database_hangs_known_names_go_on(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/", headers={"Host": host}) as reply:
            assert reply.status == 207
        await asyncio.sleep(FRESH_SECONDS)
        async with await psycopg.AsyncConnection.connect(database_url()) as holder:
            await holder.execute("lock table agents_agent in access exclusive mode")
            async with client.get("/", headers={"Host": host}) as known:
                assert known.status == 207
            async with client.get("/", headers={"Host": f"other-{host}"}) as unknown:
                assert unknown.status == 503

    between(running, scenario)


@pytest.mark.parametrize("name", ["nobody.pods.localhost", "pods.localhost", "127.0.0.1", "elsewhere.example"])
def test_an_unknown_hostname_is_a_404_page(host: str, running: Agent, name: str) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/", headers={"Host": name}) as reply:
            assert (reply.status, reply.content_type) == (404, "text/html")

    between(running, scenario)
