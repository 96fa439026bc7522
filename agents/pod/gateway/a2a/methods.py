"""The JSON-RPC methods, the same for both dialects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from agents.pod.gateway.a2a.dialects import Dialect, Json, Version03, Version1, state_named
from agents.pod.gateway.a2a.errors import (
    ContentTypeNotSupported,
    InvalidParams,
    MethodNotFound,
    NoExtendedCard,
    NoPushNotifications,
    TaskNotFound,
    Unsupported,
    VersionNotSupported,
)
from agents.pod.gateway.a2a.reading import HOPS_AT_MOST, message_of
from agents.pod.gateway.a2a.tasks import PeerMessage, StatusChange, Task, Tasks, TaskState
from agents.pod.gateway.chat import MESSAGE_BYTES

PAGE_SIZE, PAGE_SIZE_AT_MOST = 50, 100
# A task may wait for its peer without limit, but a stream ends after STREAM_SECONDS. A task has at most STREAMS_AT_MOST
# streams at the same time.
STREAM_SECONDS = 600.0
STREAMS_AT_MOST = 32
NAME_LENGTH = 256
Stream = AsyncGenerator[Json, None]
Method = Callable[["A2aCall"], Awaitable[Json | Stream]]


class A2aCall:
    """One call of a peer: parameters, dialect, and the owner (the hash of the caller's token)."""

    def __init__(self, tasks: Tasks, dialect: Dialect, params: Json, owner: str) -> None:
        self.tasks = tasks
        self.dialect = dialect
        self.params = dialect.params(params)
        self.owner = owner

    @property
    def history(self) -> int | None:
        """The most messages that the caller wants; None if the call does not say."""
        asked = self.params.get("historyLength", self.configuration.get("historyLength"))
        if asked is not None and (type(asked) is not int or asked < 0):
            raise InvalidParams("historyLength: 0 or more")
        return asked

    def let_go(self) -> None:
        """Keep only the parameters that the answer needs, to save memory: a turn may wait for minutes."""
        kept = {name: value for name, value in self.configuration.items() if isinstance(value, bool | int)}
        self.params = {"historyLength": self.history, "configuration": kept}

    def told(self, task: Task) -> Json:
        """The task as JSON. From now on the peer knows of the task."""
        task.is_told = True
        return self.dialect.task(task, history=self.history)

    def sent(self, task: Task) -> Json:
        task.is_told = True
        return self.dialect.sent(task, history=self.history)

    @property
    def configuration(self) -> Json:
        given = self.params.get("configuration")
        return given if isinstance(given, dict) else {}

    def task(self) -> Task:
        task_id = self.params.get("id")
        if not isinstance(task_id, str) or not task_id:
            raise InvalidParams("id: the task's id is missing")
        return self.tasks.find(task_id, owner=self.owner)


async def send(call: A2aCall) -> Json:
    """Start the turn and return the task. The result is only a message if the engine gave only a remark (see
    TurnEnding) and the peer does not know of the task.
    """
    task = _start(call)
    if call.dialect.waits(call.configuration):
        await task.rest()
        if task.is_remark and not task.is_told and any(one.content for one in task.artifacts):
            call.tasks.forget(task)
            return call.dialect.message(task)
    return call.sent(task)


async def stream(call: A2aCall) -> Stream:
    return _events(call, _start(call))


async def subscribe(call: A2aCall) -> Stream:
    """Watch a task. This also works for a task that waits for its peer: every watcher sees the later changes."""
    task = call.task()
    if task.is_over:
        raise Unsupported(f"the task is {task.status.state}: there is nothing to wait for")
    if task.watchers >= STREAMS_AT_MOST:
        raise Unsupported(f"the task has {STREAMS_AT_MOST} streams already")
    call.let_go()
    return _events(call, task, waits_for_peer=True)


async def get(call: A2aCall) -> Json:
    return call.told(call.task())


async def cancel(call: A2aCall) -> Json:
    task = call.task()
    call.tasks.cancel(task)
    return call.told(task)


async def list_all(call: A2aCall) -> Json:
    """The caller's tasks in pages, the last changed first. `pageToken` is the id of the last task on the
    page before.
    """
    size = call.params.get("pageSize") or PAGE_SIZE
    if type(size) is not int or not 1 <= size <= PAGE_SIZE_AT_MOST:
        raise InvalidParams(f"pageSize: 1 to {PAGE_SIZE_AT_MOST}")
    found = _filtered(call)
    first = _position(found, call.params.get("pageToken") or "")
    page = found[first : first + size]
    more = page[-1].id if page and first + size < len(found) else ""
    told = [call.told(task) for task in page]
    if call.params.get("includeArtifacts") is not True:
        told = [{name: value for name, value in body.items() if name != "artifacts"} for body in told]
    return {"tasks": told, "nextPageToken": more, "pageSize": len(told), "totalSize": len(found)}


async def no_push(_: A2aCall) -> Json:
    raise NoPushNotifications("this agent sends no push notifications")


async def no_extended_card(_: A2aCall) -> Json:
    raise NoExtendedCard("this agent has one card, the public one")


NEW: dict[str, Method] = {
    "SendMessage": send,
    "SendStreamingMessage": stream,
    "GetTask": get,
    "ListTasks": list_all,
    "CancelTask": cancel,
    "SubscribeToTask": subscribe,
    "CreateTaskPushNotificationConfig": no_push,
    "GetTaskPushNotificationConfig": no_push,
    "ListTaskPushNotificationConfigs": no_push,
    "DeleteTaskPushNotificationConfig": no_push,
    "GetExtendedAgentCard": no_extended_card,
}
OLD: dict[str, Method] = {
    "message/send": send,
    "message/stream": stream,
    "tasks/get": get,
    "tasks/cancel": cancel,
    "tasks/resubscribe": subscribe,
    "tasks/pushNotificationConfig/set": no_push,
    "tasks/pushNotificationConfig/get": no_push,
    "tasks/pushNotificationConfig/list": no_push,
    "tasks/pushNotificationConfig/delete": no_push,
    "agent/getAuthenticatedExtendedCard": no_extended_card,
}
OLD_STREAMS = frozenset({"message/stream", "tasks/resubscribe"})


def choose(name: str, version: str) -> tuple[Method, Dialect]:
    """The method and its dialect. A peer that names no version speaks 0.3. Raises VersionNotSupported,
    MethodNotFound.
    """
    asked = (version.strip() or "0.3").split(".")
    spoken: dict[str, tuple[dict[str, Method], Dialect]] = {"1": (NEW, Version1()), "0.3": (OLD, Version03())}
    methods, dialect = spoken.get("1" if asked[0] == "1" else ".".join(asked[:2]), ({}, None))
    if dialect is not None and name in methods:
        return methods[name], dialect
    if dialect is None or name in NEW or name in OLD:
        raise VersionNotSupported(f"A2A-Version: {version[:16]!r} does not fit {name[:64]!r}; 1.0 and 0.3 are spoken")
    raise MethodNotFound(f"there is no method {name[:64]!r}")


def _start(call: A2aCall) -> Task:
    question = message_of(call.dialect, call.params.get("message"))
    _ = call.history  # refuses a wrong historyLength before anything starts
    task = _check(call, question)
    call.let_go()
    return call.tasks.go_on(task, question) if task else call.tasks.start(question, owner=call.owner)


def _check(call: A2aCall, question: PeerMessage) -> Task | None:
    """The task that this message continues; None for a new task."""
    names = (question.message_id, question.context_id or "", question.task_id or "")
    if max(len(name) for name in names) > NAME_LENGTH or not _is_text(question, names):
        raise InvalidParams(f"message: ids of at most {NAME_LENGTH} characters and valid Unicode text")
    if question.hops > HOPS_AT_MOST:
        raise Unsupported(f"message: it has passed {HOPS_AT_MOST} agents, and is passed on no further")
    task = _waiting(call, question) if question.task_id else None
    if not question.text.strip():
        raise ContentTypeNotSupported("message: it has no text")
    if len(question.text.encode()) > MESSAGE_BYTES:
        raise InvalidParams(f"message: at most {MESSAGE_BYTES} bytes of text, its files and data among them")
    return task


def _waiting(call: A2aCall, question: PeerMessage) -> Task:
    task = call.tasks.find(question.task_id or "", owner=call.owner)
    if question.context_id and question.context_id != task.context_id:
        raise InvalidParams("message: taskId belongs to another contextId")
    if task.status.state is not TaskState.INPUT_REQUIRED:
        raise Unsupported(f"message: the task is {task.status.state}; send it with the contextId alone")
    return task


def _is_text(question: PeerMessage, names: tuple[str, ...]) -> bool:
    try:
        "".join([question.text, *names]).encode()
    except UnicodeEncodeError:
        return False
    return True


async def _events(call: A2aCall, task: Task, *, waits_for_peer: bool = False) -> Stream:
    """Yield the task in its current state, then every change, until the task no longer works."""
    until = asyncio.get_running_loop().time() + STREAM_SECONDS
    with task.watched() as coming:
        yield call.sent(task)
        rests = task.is_over or not (task.is_working or waits_for_peer)
        while not (rests and coming.empty()):
            try:
                async with asyncio.timeout_at(until):
                    change = await coming.get()
            except TimeoutError:
                return
            yield call.dialect.change(task, change)
            if isinstance(change, StatusChange) and change.status.state is not TaskState.WORKING:
                return


def _filtered(call: A2aCall) -> list[Task]:
    context, status = call.params.get("contextId"), call.params.get("status")
    found = call.tasks.of(call.owner)
    if context:
        found = [task for task in found if task.context_id == context]
    if status and status != "TASK_STATE_UNSPECIFIED":
        found = [task for task in found if task.status.state is state_named(str(status))]
    return found


def _position(found: list[Task], token: Any) -> int:
    if not token:
        return 0
    for number, task in enumerate(found):
        if task.id == token:
            return number + 1
    raise TaskNotFound("pageToken: not one of ours")
