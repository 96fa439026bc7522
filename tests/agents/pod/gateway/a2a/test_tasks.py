"""Tasks and their streams without a network: what a peer sees at each moment, and how much is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, cast

import pytest

from agents.pod.gateway.a2a import methods, tasks
from agents.pod.gateway.a2a.dialects import Version1
from agents.pod.gateway.a2a.errors import Unsupported
from agents.pod.gateway.a2a.methods import A2aCall
from agents.pod.gateway.a2a.tasks import PeerMessage, Tasks
from agents.pod.gateway.spending.open_turns import TurnKind
from agents.pod.gateway.turns import GatewayTurns
from agents.pod.turns.events import Delta, Done, PartGiven, TurnEvent
from agents.pod.turns.parts import FilePart, TurnEnding

Json = dict[str, Any]


class TaskEngine:
    """An engine that takes a turn and sends only the events that the test gives."""

    def __init__(self) -> None:
        self.says: asyncio.Queue[TurnEvent] = asyncio.Queue()

    async def take(self, _: str, __: str, *, kind: TurnKind, marks: tuple[str, ...]) -> AsyncGenerator[TurnEvent, None]:
        assert (kind, marks) == (TurnKind.A2A, ())
        while True:
            event = await self.says.get()
            yield event
            if isinstance(event, Done):
                return

    def say(self, *events: TurnEvent) -> None:
        for event in events:
            self.says.put_nowait(event)


def run(do: Callable[[TaskEngine, Tasks], Coroutine[Any, Any, None]]) -> None:
    async def inside() -> None:
        engine = TaskEngine()
        await do(engine, Tasks(cast("GatewayTurns", engine)))

    asyncio.run(inside())


def call(known: Tasks, **params: Any) -> A2aCall:
    return A2aCall(known, Version1(), params, "peer")


async def asked(known: Tasks, text: str = "hello", **more: Any) -> str:
    message = {"messageId": "m", "parts": [{"text": text}], **more}
    at_once = {"returnImmediately": True}
    answer = await methods.send(call(known, message=message, configuration=at_once))
    return str(answer["task"]["id"])


async def subscribed(known: Tasks, task_id: str) -> AsyncGenerator[Json, None]:
    return await methods.subscribe(call(known, id=task_id))


def said(events: list[Json]) -> str:
    updates = [event["artifactUpdate"]["artifact"]["parts"][0]["text"] for event in events if "artifactUpdate" in event]
    return "".join(updates)


async def state(known: Tasks, task_id: str) -> str:
    task = await methods.get(call(known, id=task_id))
    return str(task["status"]["state"])


def test_no_word_is_lost_while_the_first_event_of_a_stream_is_on_its_way() -> None:
    async def check(engine: TaskEngine, known: Tasks) -> None:
        stream = await subscribed(known, await asked(known))
        assert "artifacts" not in (await anext(stream))["task"]
        engine.say(Delta("one"), Delta(" two"), Done("one two", "s"))
        await asyncio.sleep(0.05)
        rest = [event async for event in stream]
        assert said(rest) == "one two"
        assert "statusUpdate" in rest[-1]

    run(check)


def test_a_stream_of_a_task_that_ended_before_its_first_event_is_that_task_alone() -> None:
    async def check(engine: TaskEngine, known: Tasks) -> None:
        stream = await subscribed(known, await asked(known))
        engine.say(Done("quick", "s"))
        await asyncio.sleep(0.05)
        (only,) = [event async for event in stream]
        assert only["task"]["status"]["state"] == "TASK_STATE_COMPLETED"

    run(check)


def test_a_stream_to_a_peer_that_does_not_answer_ends_and_the_task_goes_on_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(methods, "STREAM_SECONDS", 0.1)

    async def check(engine: TaskEngine, known: Tasks) -> None:
        task_id = await asked(known)
        engine.say(Done("which one?", "s", TurnEnding.QUESTION))
        await asyncio.sleep(0.05)
        (only,) = [event async for event in await subscribed(known, task_id)]
        assert only["task"]["status"]["message"]["parts"] == [{"text": "which one?"}]
        assert await state(known, task_id) == "TASK_STATE_INPUT_REQUIRED"

    run(check)


def test_a_task_has_so_many_streams_and_a_closed_one_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "STREAMS_AT_MOST", 2)

    async def check(_: TaskEngine, known: Tasks) -> None:
        task_id = await asked(known)
        first, second = await subscribed(known, task_id), await subscribed(known, task_id)
        await anext(first)
        await anext(second)
        with pytest.raises(Unsupported):
            await subscribed(known, task_id)
        await first.aclose()
        await subscribed(known, task_id)

    run(check)


def test_of_what_is_kept_the_oldest_goes_first_and_what_is_worked_on_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "KEPT_BYTES", 2500)
    large = PartGiven(FilePart(name="a", media_type="image/png", content=b"x" * 1000))

    async def check(engine: TaskEngine, known: Tasks) -> None:
        working = await asked(known)
        await asyncio.sleep(0.01)
        kept = []
        engine_of_working, engine.says = engine.says, asyncio.Queue()
        for _ in range(3):
            engine.say(large, Done("", "s"))
            kept.append(await asked(known))
            await asyncio.sleep(0.05)
        newest = await asked(known)
        there = {task.id for task in known.of("peer")}
        assert there == {working, *kept[1:], newest}
        engine_of_working.put_nowait(Done("at last", "s"))

    run(check)


def test_a_task_that_waits_counts_as_resting_and_makes_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "TASKS_AT_MOST", 2)

    async def check(engine: TaskEngine, known: Tasks) -> None:
        engine.say(Done("which one?", "s", TurnEnding.QUESTION))
        asking = await asked(known)
        await asyncio.sleep(0.05)
        others = {await asked(known), await asked(known)}
        assert {task.id for task in known.of("peer")} == others
        assert asking not in others

    run(check)


def test_a_caller_that_waits_waits_for_the_turn_that_a_further_message_began() -> None:
    async def check(engine: TaskEngine, known: Tasks) -> None:
        task_id = await asked(known)
        engine.say(Done("which one?", "s", TurnEnding.QUESTION))
        task = known.find(task_id, owner="peer")
        await task.rest()
        known.go_on(task, PeerMessage("m2", "that one", None, task_id))
        waits = asyncio.create_task(task.rest())
        await asyncio.sleep(0.05)
        assert not waits.done()
        engine.say(Done("well", "s"))
        await asyncio.wait_for(waits, 5)
        assert await state(known, task_id) == "TASK_STATE_COMPLETED"

    run(check)
