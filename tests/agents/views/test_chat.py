"""`POST /agents/{id}/chat`: the engine's reply or a clear failure. An error never looks like a reply."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent, Reason
from agents.pod.turns.parts import FilePart, wire
from agents.running import lifecycle
from agents.runtimes import management
from agents.runtimes.base import Endpoint
from tests.agents.conftest import MakeAgent, settle
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn


def say(client: APIClient, agent: Agent, **body: Any) -> Any:
    return client.post(f"/agents/{agent.id}/chat", {"message": "hi", **body}, format="json")


def stream(client: APIClient, agent: Agent) -> Any:
    return client.post(
        f"/agents/{agent.id}/chat", {"message": "hi"}, format="json", headers={"Accept": "text/event-stream"}
    )


def test_the_reply_is_the_engines(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    answer = say(client, running, sessionId="talk-1")
    assert (answer.status_code, answer.json()) == (200, {"reply": "you said hi", "sessionId": "talk-1"})
    assert [(turn.session_id, turn.message) for turn in bridge.turns] == [("talk-1", "hi")]


FILE = FilePart(name="output.txt", media_type="text/plain", content=b"tck")


def gives_a_file(_: ReceivedTurn) -> list[Event]:
    return [
        {"type": "delta", "text": "here"},
        {"type": "part", "part": wire(FILE)},
        {"type": "part", "part": {"kind": "data", "data": {"some_key": 5}}},
        {"type": "done", "reply": "here"},
    ]


def test_what_the_agent_gives_is_beside_its_reply(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    bridge.turn = gives_a_file
    file = {"kind": "file", "name": "output.txt", "mediaType": "text/plain", "bytes": "dGNr"}
    data = {"kind": "data", "data": {"some_key": 5}}
    assert say(client, running, sessionId="s").json() == {"reply": "here", "sessionId": "s", "parts": [file, data]}
    blocks = b"".join(stream(client, running).streaming_content).decode().split("\n\n")[:-1]
    told = [(name.removeprefix("event: "), body) for name, body in (block.split("\ndata: ") for block in blocks)]
    assert [name for name, _ in told] == ["delta", "part", "part", "done"]
    assert [json.loads(body) for _, body in told[1:3]] == [file, data]


def test_a_session_is_made_when_none_is_given(client: APIClient, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    session = say(client, running).json()["sessionId"]
    assert session
    assert say(client, running, sessionId=session).json()["sessionId"] == session


def test_without_a_model_key_the_reply_is_empty_and_the_engine_is_not_asked(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running, llm_key=None)
    answer = say(client, running)
    assert (answer.status_code, answer.json()["reply"]) == (200, "")
    assert bridge.turns == []


@pytest.mark.parametrize(("hop", "message"), [("engine", "the engine died"), ("model", "the provider refused the key")])
def test_a_failed_turn_is_a_503_that_names_the_hop(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble, hop: str, message: str
) -> None:
    gateway_of(running)
    bridge.turn = lambda turn: [{"type": "error", "hop": hop, "message": message}]
    answer = say(client, running)
    assert answer.status_code == 503
    assert answer.json()["error"] == "INTERNAL"
    assert answer.json()["message"].startswith(f"{hop}: {message}")
    assert int(answer.headers["Retry-After"]) > 0


def test_a_dead_gateway_is_a_503_that_names_it(client: APIClient, running: Agent) -> None:
    answer = say(client, running)
    assert answer.status_code == 503
    assert answer.json()["message"].startswith("gateway: ")


def test_an_agent_that_does_not_run_is_a_conflict(client: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent()
    assert say(client, agent).status_code == 409
    agent = settle(agent)
    lifecycle.pause(agent, reason=Reason.OWNER, actor="user:test")
    assert "while the agent is being stopped" in say(client, agent).json()["message"]
    answer = say(client, settle(agent))
    assert (answer.status_code, answer.json()["error"]) == (409, "CONFLICT")
    assert "resume" in answer.json()["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("message", None), ("message", 5), ("message", ""), ("message", " \n"), ("message", "x" * 65_537),
     ("sessionId", 5), ("sessionId", "a/b"), ("sessionId", "-x"), ("sessionId", ""), ("sessionId", "x" * 65)],
)  # fmt: skip
def test_a_wrong_field_is_named(client: APIClient, running: Agent, field: str, value: Any) -> None:
    answer = say(client, running, **{field: value})
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)


def test_the_reply_is_streamed_when_asked_for(client: APIClient, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    answer = stream(client, running)
    assert answer.headers["Content-Type"] == "text/event-stream"
    events = _events(_whole(answer))
    assert [name for name, _ in events] == ["delta", "delta", "done"]
    assert "".join(data["text"] for name, data in events if name == "delta") == events[-1][1]["reply"] == "you said hi"
    assert events[-1][1]["sessionId"]


def test_a_stream_that_fails_on_its_way_ends_with_an_error_event(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    bridge.turn = lambda turn: [
        {"type": "delta", "text": "well"}, {"type": "error", "hop": "model", "message": "refused"}
    ]  # fmt: skip
    name, data = _events(_whole(stream(client, running)))[-1]
    assert (name, data) == ("error", {"error": "INTERNAL", "message": "model: refused"})


def test_a_stream_that_cannot_begin_is_a_503_like_any_turn(
    client: APIClient, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    gateway_of(running)
    bridge.turn = lambda turn: [{"type": "error", "hop": "engine", "message": "the engine died"}]
    answer = stream(client, running)
    assert (answer.status_code, answer.json()["error"]) == (503, "INTERNAL")
    assert answer.json()["message"].startswith("engine: the engine died")


@pytest.mark.parametrize("ask", [say, stream])
def test_a_key_that_is_on_its_way_to_the_pod_is_waited_for(
    client: APIClient, running: Agent, gateway_of: GatewayOf, ask: Callable[[APIClient, Agent], Any]
) -> None:
    gateway = gateway_of(running, llm_key=None)
    Agent.objects.filter(id=running.id).update(llm_key_hash="0" * 64)
    with ThreadPoolExecutor() as reconciler:
        brought = reconciler.submit(_bring_key, gateway)
        answer = ask(client, running)
        said = _events(_whole(answer))[-1][1] if answer.streaming else answer.json()
        brought.result()
    assert said["reply"] == "you said hi"


@pytest.mark.parametrize("ask", [say, stream])
def test_an_engine_that_has_nothing_to_say_is_not_asked_again(
    client: APIClient,
    running: Agent,
    gateway_of: GatewayOf,
    bridge: BridgeDouble,
    ask: Callable[[APIClient, Agent], Any],
) -> None:
    gateway_of(running)
    Agent.objects.filter(id=running.id).update(llm_key_hash="0" * 64)
    bridge.turn = lambda turn: [{"type": "done", "reply": ""}]
    answer = ask(client, running)
    said = _events(_whole(answer))[-1][1] if answer.streaming else answer.json()
    assert (answer.status_code, said["reply"], len(bridge.turns)) == (200, "", 1)


def _bring_key(gateway: GatewayProcess) -> None:
    time.sleep(0.5)
    management.configure(
        Endpoint(public_url=gateway.public, management_url=gateway.management),
        gateway.access,
        config=replace(gateway.start.config, revision=gateway.start.config.revision + 1),
        secrets=replace(gateway.start.secrets, llm_key="sk-the-key-of-a-moment-ago"),
    )


def _whole(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


def _events(text: str) -> list[tuple[str, dict[str, Any]]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in blocks]
