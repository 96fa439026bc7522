"""One trace leads from the API call to the engine's model call, and no secret is in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import pytest
import requests
from celery import current_app
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.models import Agent
from config import tracing
from config.tracing import queries, recorder
from tests.agents.conftest import GatewayOf
from tests.agents.pod.gateway.process import KEY, LLM_TOKEN
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.collector import CollectorDouble
from tests.doubles.model_server import ModelServer
from tests.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = "4bf92f3577b34da6a3ce929d0e0e4736"
CLIENT = f"00-{CLIENTS}-00f067aa0ba902b7-01"


def asks_the_model(port: int) -> Callable[[ReceivedTurn], Iterable[Event]]:
    """An engine that asks its model through the pod's key proxy."""

    def turn(received: ReceivedTurn) -> Iterable[Event]:
        body = {"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": received.message}]}
        headers = {"Authorization": f"Bearer {LLM_TOKEN}"}
        url = f"http://127.0.0.1:{port}/llm/openai/v1/chat/completions"
        assert requests.post(url, json=body, headers=headers, timeout=20).status_code == 200
        yield {"type": "done", "reply": "pong"}

    return turn


def test_one_trace_leads_from_the_call_of_the_api_to_the_model(
    collector: CollectorDouble, client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    with ModelServer(key=KEY) as server:
        gateway = gateway_of(running, provider="openai", model="gpt-5", llm_base_url=server.base_url("openai"))
        bridge.turn = asks_the_model(gateway.start.llm_port)
        said = {"message": "a private word"}
        answer = client.post(f"/agents/{running.id}/chat?token=of-a-visitor", said, format="json")
        assert answer.json()["reply"] == "pong"
        assert len(server.turns()) == 1
        assert "traceparent" not in server.turns()[0].headers  # a provider learns nothing of our traces
    route = "POST /agents/<str:id>/chat"
    spans = collector.wait_for(route, "SELECT", "call of the gateway", "turn", "engine", "model call")
    request, call = spans[route], spans["call of the gateway"]
    assert {spans[name].trace_id for name in (route, "call of the gateway", "turn", "engine", "model call")} == {
        request.trace_id
    }
    assert (request.parent_id, call.parent_id, spans["model call"].parent_id) == ("", request.span_id, call.span_id)
    assert request.attributes["http.response.status_code"] == 200
    told = b"".join(collector.bodies)
    for secret in (b"a private word", b"of-a-visitor", b"owner@example.com", KEY.encode(), running.id.encode()):
        assert secret not in told


def test_a_streamed_turn_is_in_its_trace_too(
    collector: CollectorDouble, client: APIClient, running: Agent, gateway_of: GatewayOf
) -> None:
    gateway_of(running)
    streamed = {"Accept": "text/event-stream"}
    answer = client.post(f"/agents/{running.id}/chat", {"message": "hi"}, format="json", headers=streamed)
    b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    spans = collector.wait_for("POST /agents/<str:id>/chat", "turn", "engine")
    assert len({spans[name].trace_id for name in ("POST /agents/<str:id>/chat", "turn", "engine")}) == 1


def test_a_client_s_trace_is_a_link_or_the_parent_or_nothing(
    collector: CollectorDouble, api: APIClient, settings: Settings
) -> None:
    def asked(header: str) -> tuple[bool, bool]:
        """Whether the request's span is in the client's trace, and whether it has a link to it."""
        collector.spans.clear()
        api.get("/tiers", headers={"traceparent": header})
        span = collector.wait_for("GET /tiers")["GET /tiers"]
        return span.trace_id == CLIENTS, span.links == [CLIENTS]

    assert asked(CLIENT) == (False, True)
    settings.TRACES_FROM_CLIENTS = "parent"
    assert asked(CLIENT) == (True, False)
    for hostile in ("x" * 1_000_000, CLIENT + "0" * 1_000_000, f"00-{'0' * 32}-{'0' * 16}-01", f"ff{CLIENT[2:]}", "é"):
        assert asked(hostile) == (False, False)
    settings.TRACES_FROM_CLIENTS = "ignore"
    assert asked(CLIENT) == (False, False)


def test_a_collector_that_is_silent_or_floods_slows_no_request(
    collector: CollectorDouble, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector.answer = b"x" * 50_000_000
    api.get("/tiers")
    collector.wait_for("GET /tiers")
    collector.silent.set()
    found = tracing.active()
    assert found
    for _ in range(3_000):  # more than wait at most
        found.serve("GET", traceparent="", attributes={}).end()
    began = time.monotonic()
    assert api.get("/tiers").status_code == 200
    assert time.monotonic() - began < recorder.COLLECTOR_SECONDS - 1


@pytest.mark.sampled
def test_each_run_of_a_periodic_job_is_a_trace_of_its_own(collector: CollectorDouble, celery: Workers) -> None:
    celery.start("default")
    for name in ("accounts.purge", "webhooks.purge"):
        one = current_app.conf.beat_schedule[name]
        current_app.send_task(one["task"], **one["options"])
    spans = collector.wait_for("accounts.purge", "webhooks.purge", "DELETE")
    runs = [spans["accounts.purge"], spans["webhooks.purge"]]
    assert {(one.program, one.parent_id) for one in runs} == {("worker", "")}
    assert runs[0].trace_id != runs[1].trace_id
    inside = [one for one in collector.spans if one.name == "DELETE"]
    assert {one.parent_id for one in inside} <= {one.span_id for one in runs}


@pytest.mark.sampled
def test_a_task_is_in_the_trace_of_the_request_that_asked_for_it(collector: CollectorDouble, celery: Workers) -> None:
    celery.start("default")
    found = tracing.active()
    assert found
    span = found.serve("POST", traceparent="", attributes={})
    token = recorder.enter(span)
    current_app.send_task("accounts.purge", queue="default")
    recorder.leave(token)
    current_app.send_task("webhooks.purge", queue="default")  # nobody traces it
    span.end()
    spans = collector.wait_for("accounts.purge")
    assert (spans["accounts.purge"].program, spans["accounts.purge"].trace_id) == ("worker", span.trace_id)
    assert "webhooks.purge" not in spans


def test_statements_are_told_without_the_texts_in_them() -> None:
    said = "SELECT * FROM x WHERE mail = 'a@b.c' AND it = 'O''Neil' AND n = 12345678 AND id = %s"
    assert queries.cleaned(said) == "SELECT * FROM x WHERE mail = ? AND it = ? AND n = ? AND id = %s"
    assert len(queries.cleaned("x" * 1_000_000)) == queries.LONGEST
