"""Each request of a visitor is a trace, which tells neither who visits nor what."""

from __future__ import annotations

from typing import Any

from aiohttp.test_utils import TestClient
from pytest_django import Settings

from agents.models import Agent
from tests.agents.router.test_proxy import ListenerPod, between
from tests.doubles.collector import CollectorDouble

CLIENTS = "4bf92f3577b34da6a3ce929d0e0e4736"
SAID = f"00-{CLIENTS}-00f067aa0ba902b7-01"
GET = "GET of a visitor"


def test_a_visitors_request_and_the_call_of_the_pod_are_one_trace(
    collector: CollectorDouble, host: str, running: Agent
) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.get("/private/place?word=secret", headers={"Host": host, "traceparent": SAID}) as reply:
            told = await reply.json()
        assert told["headers"]["traceparent"] == SAID  # of the visitor; the pod learns nothing of ours

    between(running, scenario)
    spans = collector.wait_for(GET, "call of the pod")
    visit, call = spans[GET], spans["call of the pod"]
    assert (call.trace_id, call.parent_id, visit.parent_id) == (visit.trace_id, visit.span_id, "")
    assert (visit.trace_id != CLIENTS, visit.links) == (True, [CLIENTS])
    assert visit.attributes["http.response.status_code"] == 207
    assert visit.attributes["agentpods.answered_by"] == "pod"
    told = b"".join(collector.bodies)
    for secret in (b"private", b"secret", running.slug.encode(), running.id.encode()):
        assert secret not in told


def test_what_the_router_answers_itself_is_traced_too(
    collector: CollectorDouble, host: str, running: Agent, settings: Settings
) -> None:
    settings.TRACES_FROM_CLIENTS = "ignore"

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        headers = {"Host": f"nobody.{settings.PLATFORM_DOMAIN}", "traceparent": SAID}
        async with client.request("PROPFIND", "/", headers=headers) as reply:
            assert reply.status == 404

    between(running, scenario)
    visit = collector.wait_for("_OTHER of a visitor")["_OTHER of a visitor"]
    assert (visit.links, visit.attributes["agentpods.answered_by"]) == ([], "router")
    assert "call of the pod" not in {one.name for one in collector.spans}


def test_a_websocket_is_one_span(collector: CollectorDouble, host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        async with client.ws_connect("/socket", headers={"Host": host}) as socket:
            await socket.send_str("bye")
            await socket.receive()

    between(running, scenario)
    spans = collector.wait_for(GET, "call of the pod")
    assert spans[GET].attributes["network.protocol.name"] == "websocket"
    assert spans[GET].trace_id == spans["call of the pod"].trace_id
