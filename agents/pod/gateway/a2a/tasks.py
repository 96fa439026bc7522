"""Tasks of peers: each message makes one, a turn of the engine does it, and whoever watches sees every change."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from agents.pod.gateway.a2a.errors import TaskNotCancelable, TaskNotFound
from agents.pod.gateway.turns import Delta, Done, TurnFailed, Turns

TASKS_AT_MOST = 500
log = logging.getLogger(__name__)


class State(StrEnum):
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Message:
    """What a peer says. `text` is all its parts."""

    message_id: str
    text: str
    context_id: str | None
    task_id: str | None
    hops: int = 0  # agents that have passed the question on


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of the reply; the first one, or one that corrects all before, does not append."""

    text: str
    append: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The task's last change; its state says how."""


Change = Words | Ended


@dataclass(slots=True, eq=False)
class Task:
    question: Message
    context_id: str
    owner: str  # digest of the token under which it was asked for
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    artifact_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: State = State.WORKING
    reply: str = ""
    note: str | None = None  # what to tell of a state that is no success
    changed_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    watchers: list[asyncio.Queue[Change]] = field(default_factory=list)
    work: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        return self.state is not State.WORKING

    def say(self, text: str) -> None:
        self._tell(Words(text, append=bool(self.reply)))
        self.reply += text

    def end(self, state: State, *, reply: str | None = None, note: str | None = None) -> None:
        if self.is_over:
            return
        if reply is not None and reply != self.reply:
            self.reply = reply
            self._tell(Words(reply, append=False))
        self.state, self.note, self.changed_at = state, note, datetime.now(UTC)
        self._tell(Ended())

    def _tell(self, change: Change) -> None:
        for watcher in self.watchers:
            watcher.put_nowait(change)

    async def changes(self) -> AsyncGenerator[Change, None]:
        """Everything from now on, ended by Ended."""
        watcher: asyncio.Queue[Change] = asyncio.Queue()
        self.watchers.append(watcher)
        try:
            while not (self.is_over and watcher.empty()):
                yield await watcher.get()
        finally:
            self.watchers.remove(watcher)


class Tasks:
    """In memory: a gateway that starts anew has forgotten them, as the protocol allows."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._known: dict[str, Task] = {}

    def start(self, question: Message, *, owner: str) -> Task:
        task = Task(question, question.context_id or str(uuid.uuid4()), owner)
        self._forget_oldest()
        self._known[task.id] = task
        task.work = asyncio.create_task(self._work(task))
        return task

    def find(self, task_id: str, *, owner: str) -> Task:
        task = self._known.get(task_id)
        if task is None or task.owner != owner:
            raise TaskNotFound(f"there is no task {task_id[:64]!r}")
        return task

    def of(self, owner: str) -> list[Task]:
        """All of this peer's, newest change first."""
        mine = [task for task in self._known.values() if task.owner == owner]
        return sorted(mine, key=lambda task: task.changed_at, reverse=True)

    def longest_chain(self) -> int:
        """How many agents the question has passed that has passed most, of those that are being answered."""
        return max((task.question.hops for task in self._known.values() if not task.is_over), default=0)

    def cancel(self, task: Task) -> None:
        if task.is_over or task.work is None:
            raise TaskNotCancelable(f"the task is {task.state}")
        task.end(State.CANCELED)
        task.work.cancel()

    async def _work(self, task: Task) -> None:
        try:
            async with aclosing(self._turns.take(task.question.text, _session(task))) as events:
                async for event in events:
                    _note(task, event)
        except TurnFailed as failure:
            # A peer is no owner: it hears which part failed, not what the provider said about the account.
            task.end(State.FAILED, note=f"the agent's {failure.hop} did not answer")
        except Exception:
            log.exception("task of a peer")
            task.end(State.FAILED, note="the agent failed")
        finally:
            task.end(State.CANCELED)

    def _forget_oldest(self) -> None:
        """Each new task may push out one that is over."""
        oldest = next((key for key, task in self._known.items() if task.is_over), None)
        if oldest and len(self._known) >= TASKS_AT_MOST:
            del self._known[oldest]


def _note(task: Task, event: Delta | Done) -> None:
    match event:
        case Delta(text):
            task.say(text)
        case Done(reply, _):
            task.end(State.COMPLETED, reply=reply)


def _session(task: Task) -> str:
    """A peer's context is a conversation of its own: no name that it makes up reaches the owner's."""
    digest = hashlib.sha256(f"{task.owner}\n{task.context_id}".encode()).hexdigest()
    return f"a2a-{digest[:40]}"
