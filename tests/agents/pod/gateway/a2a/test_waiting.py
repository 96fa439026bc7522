"""Turns that do not end with an answer: a task that waits for its peer, and a remark without a task."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
import requests
from a2a.client import Client
from a2a.types import CancelTaskRequest, GetTaskRequest, Role, Task, TaskState

from agents.pod.turns.parts import DataPart, wire
from tests.agents.pod.bridge.process import eventually
from tests.agents.pod.gateway.a2a.conftest import TOKEN
from tests.agents.pod.gateway.a2a.test_client import CONTEXT, peer, say, until
from tests.agents.pod.gateway.a2a.test_endpoint import MESSAGE, call, changed
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn

pytestmark = pytest.mark.unmeasured

BOTH = pytest.mark.parametrize("version", ["1.0", "0.3"])
WAITS = "TASK_STATE_INPUT_REQUIRED"


def remark(text: str, *before: Event) -> Callable[[ReceivedTurn], Iterable[Event]]:
    return lambda _: [*before, {"type": "done", "reply": text, "ending": "remark"}]


def asks(turn: ReceivedTurn) -> Iterable[Event]:
    """The engine asks for the colour, and accepts red."""
    if turn.message == "red":
        yield {"type": "delta", "text": "painted "}
        yield {"type": "done", "reply": "painted red"}
    else:
        yield {"type": "done", "reply": "which colour?", "ending": "question"}


def waiting(gateway: GatewayProcess) -> Any:
    task = call(gateway, "SendMessage", {"message": MESSAGE})["result"]["task"]
    assert task["status"]["state"] == WAITS
    return task


def texts(messages: Any) -> list[tuple[str, str]]:
    return [(message["role"], message["parts"][0]["text"]) for message in messages]


@BOTH
def test_a_remark_is_answered_by_a_message_and_leaves_no_task(
    fresh_peerable: GatewayProcess, bridge: BridgeDouble, version: str
) -> None:
    bridge.turn = remark("good morning", {"type": "delta", "text": "good morning"})
    (answer,) = peer(fresh_peerable, lambda client: say(client, "hello", "talk"), version=version)
    assert answer.WhichOneof("payload") == "message"
    assert (answer.message.context_id, answer.message.task_id) == ("talk", "")
    assert answer.message.parts[0].text == "good morning"
    assert call(fresh_peerable, "ListTasks")["result"]["totalSize"] == 0


@BOTH
def test_a_peer_that_was_told_of_a_task_keeps_it(peerable: GatewayProcess, bridge: BridgeDouble, version: str) -> None:
    """A stream begins before the gateway knows how the turn ends."""
    bridge.turn = remark("good morning")
    events = peer(peerable, lambda client: say(client, "hello"), streaming=True, version=version)
    assert [event.WhichOneof("payload") for event in events] == ["task", "artifact_update", "status_update"]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


def test_a_caller_that_did_not_wait_finds_its_task(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = remark("good morning")

    async def check(client: Client) -> Task:
        task = (await say(client, "hello", at_once=True))[0].task
        while task.status.state == TaskState.TASK_STATE_WORKING:
            await asyncio.sleep(0.05)
            task = await client.get_task(GetTaskRequest(id=task.id), context=CONTEXT)
        return task

    assert peer(peerable, check).artifacts[0].parts[0].text == "good morning"


def test_a_remark_without_a_word_is_a_finished_task(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    """A message must have a part."""
    bridge.turn = remark("")
    task = call(peerable, "SendMessage", {"message": MESSAGE})["result"]["task"]
    assert (task["status"]["state"], "artifacts" in task) == ("TASK_STATE_COMPLETED", False)


def test_a_remark_may_have_parts(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = remark("see", {"type": "part", "part": wire(DataPart(value=5))})
    message = call(peerable, "SendMessage", {"message": MESSAGE})["result"]["message"]
    assert message["role"] == "ROLE_AGENT"
    assert message["parts"] == [{"data": 5, "mediaType": "application/json"}, {"text": "see"}]


@BOTH
def test_a_question_of_the_engine_waits_for_the_peer_and_the_task_goes_on_with_its_answer(
    peerable: GatewayProcess, bridge: BridgeDouble, version: str
) -> None:
    bridge.turn = asks

    async def check(client: Client) -> tuple[Task, Task]:
        asked = (await say(client, "paint it"))[0].task
        assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        return asked, (await say(client, "red", task_id=asked.id))[0].task

    asked, done = peer(peerable, check, version=version)
    assert asked.status.message.parts[0].text == "which colour?"
    assert not asked.artifacts
    assert (done.id, done.status.state) == (asked.id, TaskState.TASK_STATE_COMPLETED)
    assert [artifact.parts[0].text for artifact in done.artifacts] == ["painted red"]
    sessions = {turn.session_id for turn in bridge.turns}
    assert ([turn.message for turn in bridge.turns], len(sessions)) == (["paint it", "red"], 1)
    told = [(message.role, message.parts[0].text) for message in done.history]
    assert told == [(Role.ROLE_USER, "paint it"), (Role.ROLE_AGENT, "which colour?"), (Role.ROLE_USER, "red")]


@BOTH
def test_a_stream_ends_where_the_task_waits(peerable: GatewayProcess, bridge: BridgeDouble, version: str) -> None:
    bridge.turn = asks
    *_, last = peer(peerable, lambda client: say(client, "paint it"), streaming=True, version=version)
    assert last.status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert last.status_update.status.message.parts[0].text == "which colour?"


def test_history_is_the_newest_messages_as_many_as_are_asked_for(
    peerable: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.turn = asks
    task = waiting(peerable)
    follow = {**changed(taskId=task["id"], parts=[{"text": "red"}]), "configuration": {"historyLength": 1}}
    assert texts(call(peerable, "SendMessage", follow)["result"]["task"]["history"]) == [("ROLE_USER", "red")]

    def history(length: Any) -> Any:
        asked = {"id": task["id"], "historyLength": length}
        return call(peerable, "GetTask", asked)["result"].get("history", [])

    assert [len(history(length)) for length in (0, 1, 2, 10, None)] == [0, 1, 2, 3, 3]
    for wrong in (-1, "2", True, 1.5):
        assert call(peerable, "GetTask", {"id": task["id"], "historyLength": wrong})["error"]["code"] == -32602
    bad = {"message": MESSAGE, "configuration": {"historyLength": -1}}
    assert call(peerable, "SendMessage", bad)["error"]["code"] == -32602
    assert len(bridge.turns) == 2


def test_the_history_of_a_task_does_not_grow_for_ever(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = asks
    task = waiting(peerable)
    for number in range(55):
        call(peerable, "SendMessage", changed(taskId=task["id"], parts=[{"text": f"number {number}"}]))
    told = texts(call(peerable, "GetTask", {"id": task["id"]})["result"]["history"])
    assert (len(told), told[-1]) == (100, ("ROLE_USER", "number 54"))


def test_a_task_that_waits_can_be_watched_by_several_and_ends_for_all(
    peerable: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.turn = asks
    task = waiting(peerable)
    body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}
    headers = {"Authorization": f"Bearer {TOKEN}", "A2A-Version": "1.0"}
    first = threading.Barrier(3)
    came: list[list[Any]] = [[], []]

    def watch(number: int) -> None:
        with requests.post(f"{peerable.public}/a2a", json=body, headers=headers, stream=True, timeout=20) as answer:
            for line in answer.iter_lines(chunk_size=1):
                if line.startswith(b"data: "):
                    came[number].append(json.loads(line.removeprefix(b"data: "))["result"])
                    if len(came[number]) == 1:
                        first.wait(10)

    watchers = [threading.Thread(target=watch, args=(number,)) for number in range(2)]
    for watcher in watchers:
        watcher.start()
    first.wait(10)
    call(peerable, "SendMessage", changed(taskId=task["id"], parts=[{"text": "red"}]))
    for watcher in watchers:
        watcher.join(10)
    assert came[0] == came[1]
    assert [next(iter(event)) for event in came[0]] == [
        "task",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    states = [event["statusUpdate"]["status"]["state"] for event in came[0] if "statusUpdate" in event]
    assert states == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]


@BOTH
def test_a_task_that_waits_can_be_cancelled(peerable: GatewayProcess, bridge: BridgeDouble, version: str) -> None:
    bridge.turn = asks

    async def check(client: Client) -> Task:
        asked = (await say(client, "paint it"))[0].task
        return await client.cancel_task(CancelTaskRequest(id=asked.id), context=CONTEXT)

    assert peer(peerable, check, version=version).status.state == TaskState.TASK_STATE_CANCELED


def test_a_task_that_is_being_worked_on_takes_no_message(peerable: GatewayProcess, bridge: BridgeDouble) -> None:
    released = threading.Event()

    def hold(_: ReceivedTurn) -> Iterable[Event]:
        released.wait(10)
        yield {"type": "done", "reply": "held"}

    bridge.turn = hold
    at_once = {"message": MESSAGE, "configuration": {"returnImmediately": True}}
    task = call(peerable, "SendMessage", at_once)["result"]["task"]
    until(lambda: bool(bridge.turns))
    assert call(peerable, "SendMessage", changed(taskId=task["id"]))["error"]["code"] == -32004
    released.set()


@BOTH
def test_what_a_peer_sends_beside_its_message_is_not_kept_while_it_waits(
    start_gateway: StartGateway, bridge: BridgeDouble, version: str
) -> None:
    """One MiB of JSON becomes 20 MiB of objects, and a gateway in a cluster has 256 MiB."""
    gateway = start_gateway(inside=False, a2a_enabled=True, a2a_token=TOKEN)
    released = threading.Event()

    def late(_: ReceivedTurn) -> Iterable[Event]:
        released.wait(30)
        yield {"type": "done", "reply": "late"}

    bridge.turn = late
    junk: list[Any] = [{} for _ in range(240_000)]
    part = {"text": "hello"} if version == "1.0" else {"kind": "text", "text": "hello"}
    method = "SendMessage" if version == "1.0" else "message/send"
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [part], "metadata": {"junk": junk}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}})
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "A2A-Version": version}

    def send(_: int) -> int:
        return requests.post(f"{gateway.public}/a2a", data=body, headers=headers, timeout=40).status_code

    with ThreadPoolExecutor(16) as peers:
        answers = [peers.submit(send, number) for number in range(16)]
        try:
            eventually(lambda: len(bridge.turns) == 16, within=30, what="all turns")
            assert psutil.Process(gateway.pid).memory_info().rss < 192 * 1024 * 1024
        finally:
            released.set()
        assert {answer.result() for answer in answers} == {200}
