"""The official client with the gateway, in both versions of the protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

import httpx
import pytest
from a2a.client import A2ACardResolver, A2AClientError, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, InMemoryContextCredentialStore
from a2a.helpers import get_artifact_text, get_stream_response_text, new_text_message
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError

from tests.agents.pod.gateway.a2a.conftest import TOKEN
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.patience import Patience

CONTEXT = ClientCallContext(state={"sessionId": "peer"})
Result = TypeVar("Result")
Doing = Callable[[Client], Awaitable[Result]]


@asynccontextmanager
async def connected(
    gateway: GatewayProcess, *, streaming: bool, version: str = "1.0", token: str = TOKEN, base: str = "/a2a"
) -> AsyncIterator[Client]:
    """A client that has read the card, as any peer does, and that prefers `version`."""
    store = InMemoryContextCredentialStore()
    await store.set_credentials("peer", "bearer", token)
    async with httpx.AsyncClient(trust_env=False, timeout=20) as http:
        card = await A2ACardResolver(http, gateway.public + base).get_agent_card()
        kept = [offer for offer in card.supported_interfaces if offer.protocol_version == version]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        config = ClientConfig(streaming=streaming, httpx_client=http)
        yield ClientFactory(config).create(card, [AuthInterceptor(store)])


def peer(gateway: GatewayProcess, do: Doing[Result], *, streaming: bool = False, version: str = "1.0") -> Result:
    async def run() -> Result:
        async with connected(gateway, streaming=streaming, version=version) as client:
            return await do(client)

    return asyncio.run(run())


async def say(
    client: Client, text: str, context_id: str | None = None, *, task_id: str | None = None, at_once: bool = False
) -> list[StreamResponse]:
    message = new_text_message(text, role=Role.ROLE_USER, context_id=context_id, task_id=task_id)
    asked = SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))
    return [event async for event in client.send_message(asked, context=CONTEXT)]


def until(holds: Callable[[], bool]) -> None:
    patience = Patience(5)
    while not holds():
        assert not patience.ended()
        time.sleep(0.05)


def slowly(turn: ReceivedTurn) -> Iterable[Event]:
    for word in ("one", " two", " three"):
        time.sleep(0.1)
        yield {"type": "delta", "text": word}
    yield {"type": "done", "reply": "one two three"}


def endless(_: ReceivedTurn) -> Iterable[Event]:
    while True:
        time.sleep(0.1)
        yield {"type": "delta", "text": "and "}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_message_is_answered_by_a_finished_task(peerable: GatewayProcess, bridge: BridgeDouble, version: str) -> None:
    (answer,) = peer(peerable, lambda client: say(client, "hello"), version=version)
    assert answer.task.status.state == TaskState.TASK_STATE_COMPLETED
    assert get_stream_response_text(answer) == "you said hello"
    assert [turn.message for turn in bridge.turns] == ["hello"]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_the_card_at_the_hosts_own_path_serves_both_versions(peerable: GatewayProcess, version: str) -> None:
    async def run() -> list[StreamResponse]:
        async with connected(peerable, streaming=False, version=version, base="") as client:
            return await say(client, "hello")

    assert get_stream_response_text(asyncio.run(run())[0]) == "you said hello"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_stream_begins_with_the_task_and_ends_with_its_state(
    peerable: GatewayProcess, bridge: BridgeDouble, version: str
) -> None:
    bridge.turn = slowly
    events = peer(peerable, lambda client: say(client, "count"), streaming=True, version=version)
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds == ["task", "artifact_update", "artifact_update", "artifact_update", "status_update"]
    assert "".join(get_stream_response_text(event) for event in events[1:4]) == "one two three"
    assert [event.artifact_update.append for event in events[1:4]] == [False, True, True]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert {event.artifact_update.task_id for event in events[1:4]} == {events[0].task.id}


def test_messages_of_one_context_are_one_conversation_and_reach_no_others(
    peerable: GatewayProcess, bridge: BridgeDouble
) -> None:
    async def converse(client: Client) -> list[Task]:
        first = (await say(client, "first"))[0].task
        second = (await say(client, "second", first.context_id))[0].task
        third = (await say(client, "third"))[0].task
        return [first, second, third]

    first, second, third = peer(peerable, converse)
    assert first.context_id == second.context_id != third.context_id
    sessions = [turn.session_id for turn in bridge.turns]
    assert sessions[0] == sessions[1] != sessions[2]
    assert all(session.startswith("a2a-") for session in sessions)
    peer(peerable, lambda client: say(client, "hi", "ses_of_the_owner"))
    assert bridge.turns[-1].session_id.startswith("a2a-")


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_tasks_are_found_again_and_cannot_be_cancelled_when_over(peerable: GatewayProcess, version: str) -> None:
    async def check(client: Client) -> None:
        task = (await say(client, "hello"))[0].task
        found = await client.get_task(GetTaskRequest(id=task.id), context=CONTEXT)
        assert get_artifact_text(found.artifacts[0]) == "you said hello"
        assert found.history[0].parts[0].text == "hello"
        bare = await client.get_task(GetTaskRequest(id=task.id, history_length=0), context=CONTEXT)
        assert not bare.history
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id), context=CONTEXT)
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="nothing"), context=CONTEXT)

    peer(peerable, check, version=version)


def test_tasks_are_listed_in_pages_newest_first(fresh_peerable: GatewayProcess) -> None:
    async def check(client: Client) -> None:
        asked = [(await say(client, f"m{n}"))[0].task.id for n in range(3)]
        page = await client.list_tasks(ListTasksRequest(page_size=2), context=CONTEXT)
        assert ([task.id for task in page.tasks], page.total_size) == ([asked[2], asked[1]], 3)
        rest = await client.list_tasks(ListTasksRequest(page_size=2, page_token=page.next_page_token), context=CONTEXT)
        assert ([task.id for task in rest.tasks], rest.next_page_token) == ([asked[0]], "")
        assert not rest.tasks[0].artifacts
        whole = await client.list_tasks(ListTasksRequest(include_artifacts=True), context=CONTEXT)
        assert whole.tasks[0].artifacts
        context_id = whole.tasks[1].context_id
        one = await client.list_tasks(ListTasksRequest(context_id=context_id), context=CONTEXT)
        assert [task.id for task in one.tasks] == [asked[1]]
        failed = ListTasksRequest(status=TaskState.TASK_STATE_FAILED)
        assert not (await client.list_tasks(failed, context=CONTEXT)).tasks

    peer(fresh_peerable, check)


def test_a_running_task_can_be_cancelled_and_its_turn_ends(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = endless

    async def check(client: Client) -> None:
        task = (await say(client, "go on", at_once=True))[0].task
        assert task.status.state == TaskState.TASK_STATE_WORKING
        await asyncio.to_thread(until, lambda: bool(bridge.turns))
        canceled = await client.cancel_task(CancelTaskRequest(id=task.id), context=CONTEXT)
        assert canceled.status.state == TaskState.TASK_STATE_CANCELED

    peer(peerable, check)
    until(lambda: len(bridge.aborted) == 1)


def test_without_a_model_key_the_task_is_finished_and_empty(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    gateway = start_gateway(a2a_enabled=True, a2a_token=TOKEN, llm_key=None)
    (answer,) = peer(gateway, lambda client: say(client, "hello"))
    assert answer.task.status.state == TaskState.TASK_STATE_COMPLETED
    assert not answer.task.artifacts
    assert bridge.turns == []


def test_a_failed_turn_is_a_failed_task_without_the_owners_secrets(
    peerable: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.turn = lambda _: [{"type": "error", "hop": "model", "message": "account org-123 has no credit"}]
    (answer,) = peer(peerable, lambda client: say(client, "hello"))
    assert answer.task.status.state == TaskState.TASK_STATE_FAILED
    assert answer.task.status.message.parts[0].text == "the agent's model did not answer"


def test_a_wrong_token_is_told_to_the_client(peerable: GatewayProcess) -> None:
    async def run() -> None:
        async with connected(peerable, streaming=False, token="wrong") as client:
            await say(client, "hello")

    with pytest.raises(A2AClientError, match="401"):
        asyncio.run(run())


def test_an_engine_that_is_down_is_an_answer_and_no_hang(fresh_peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    async def run() -> None:
        async with connected(fresh_peerable, streaming=False) as client:
            bridge.phase = "unhealthy"
            await asyncio.sleep(0.6)
            await say(client, "hello")

    with pytest.raises(A2AClientError, match="503"):
        asyncio.run(run())
