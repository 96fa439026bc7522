"""Tasks of peers: a message starts a task, turns of the engine work on it, and every watcher sees each change."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from agents.pod.gateway.a2a.errors import TaskNotCancelable, TaskNotFound
from agents.pod.gateway.spending.open_turns import TurnKind
from agents.pod.gateway.turns import GatewayTurns
from agents.pod.turns.events import Delta, Done, PartGiven, TurnEvent
from agents.pod.turns.failures import HopFailure
from agents.pod.turns.parts import NotePart, Part, TurnEnding, line, size

TASKS_AT_MOST = 500
KEPT_BYTES = 32 * 1024 * 1024  # for all tasks together, before the next task starts
HISTORY_AT_MOST = 100
log = logging.getLogger(__name__)


class TaskState(StrEnum):
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class PeerMessage:
    """A message of a peer. `text` contains all its parts as text."""

    message_id: str
    text: str
    context_id: str | None
    task_id: str | None
    hops: int = 0  # number of agents that have passed the question on
    marks: tuple[str, ...] = ()  # of the API keys for whose turns the peer asks


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that the peer or the agent said about a task."""

    is_agents: bool
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TaskStatus:
    state: TaskState
    note: Remark | None = None  # the agent's question, or an explanation of a state that is not a success
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(slots=True, eq=False)
class Artifact:
    """One result of a task: text, which may still grow, or one part."""

    name: str
    content: str | Part
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True, slots=True)
class ArtifactChange:
    """A piece of text, or a whole part. If `append` is false, the content replaces everything before it."""

    artifact: Artifact
    content: str | Part
    append: bool


@dataclass(frozen=True, slots=True)
class StatusChange:
    status: TaskStatus


Change = ArtifactChange | StatusChange


@dataclass(slots=True, eq=False)
class Task:
    question: PeerMessage  # the newest message
    context_id: str
    owner: str  # digest of the token with which the task was started
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: TaskStatus = field(default_factory=lambda: TaskStatus(TaskState.WORKING))
    artifacts: list[Artifact] = field(default_factory=list)
    history: list[Remark] = field(default_factory=list)
    # whether the answer may be sent as a message, as long as the peer does not know of the task
    is_remark: bool = False
    is_told: bool = False
    work: asyncio.Task[None] | None = None
    _words: Artifact | None = None  # the text of the running turn
    _watchers: list[asyncio.Queue[Change]] = field(default_factory=list)

    @property
    def is_working(self) -> bool:
        return self.status.state is TaskState.WORKING

    @property
    def is_over(self) -> bool:
        return self.status.state not in {TaskState.WORKING, TaskState.INPUT_REQUIRED}

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def size(self) -> int:
        kept = [artifact.content for artifact in self.artifacts]
        texts = [one for one in kept if isinstance(one, str)] + [remark.text for remark in self.history]
        return sum(map(len, texts)) + sum(size(one) for one in kept if not isinstance(one, str))

    def ask(self, question: PeerMessage) -> None:
        """Add a message of the peer: the first question, or the answer to a question of the agent. The note of the last
        status moves into the history.
        """
        if self.status.note:
            self.history.append(self.status.note)
        self.history.append(Remark(is_agents=False, message_id=question.message_id, text=question.text))
        del self.history[:-HISTORY_AT_MOST]
        self.question, self._words = question, None
        if not self.is_working:
            self._move(TaskStatus(TaskState.WORKING))

    def say(self, text: str) -> None:
        words = self._spoken()
        self._tell(ArtifactChange(words, text, append=bool(words.content)))
        words.content = f"{words.content}{text}"

    def give(self, part: Part) -> None:
        if isinstance(part, NotePart):
            artifact = Artifact("note", line(part))
        else:
            artifact = Artifact(getattr(part, "name", "data"), part)
        self.artifacts.append(artifact)
        self._tell(ArtifactChange(artifact, artifact.content, append=False))

    def answer(self, reply: str, ending: TurnEnding) -> None:
        """The turn has ended with this text, which replaces the streamed text if they differ. A question of the agent
        becomes the note of the status.
        """
        if ending is TurnEnding.QUESTION:
            self.end(TaskState.INPUT_REQUIRED, note=reply)
            return
        if not self.is_over and reply != (self._words.content if self._words else ""):
            words = self._spoken()
            words.content = reply
            self._tell(ArtifactChange(words, reply, append=False))
        self.is_remark = ending is TurnEnding.REMARK
        self.end(TaskState.COMPLETED)

    def end(self, state: TaskState, *, note: str = "") -> None:
        if not self.is_over:
            said = Remark(is_agents=True, message_id=str(uuid.uuid4()), text=note) if note.strip() else None
            self._move(TaskStatus(state, said))

    def told(self, length: int | None) -> list[Remark]:
        """The newest `length` messages of the history; None means all."""
        return self.history if length is None else self.history[-length:] if length else []

    @contextmanager
    def watched(self) -> Iterator[asyncio.Queue[Change]]:
        """A queue that gets all changes from now on."""
        watcher: asyncio.Queue[Change] = asyncio.Queue()
        self._watchers.append(watcher)
        try:
            yield watcher
        finally:
            self._watchers.remove(watcher)

    async def rest(self) -> None:
        """Wait until no turn works on the task."""
        while self.is_working and self.work:
            await asyncio.wait({self.work})

    def _spoken(self) -> Artifact:
        if self._words is None:
            self._words = Artifact("reply", "")
            self.artifacts.append(self._words)
        return self._words

    def _move(self, status: TaskStatus) -> None:
        self.status = status
        self._tell(StatusChange(status))

    def _tell(self, change: Change) -> None:
        for watcher in self._watchers:
            watcher.put_nowait(change)


class Tasks:
    """All tasks, in memory. A restarted gateway has forgotten them, as the protocol allows."""

    def __init__(self, turns: GatewayTurns) -> None:
        self._turns = turns
        self._known: dict[str, Task] = {}

    def start(self, question: PeerMessage, *, owner: str) -> Task:
        task = Task(question, question.context_id or str(uuid.uuid4()), owner)
        self._make_room()
        self._known[task.id] = task
        return self.go_on(task, question)

    def go_on(self, task: Task, question: PeerMessage) -> Task:
        """Start the next turn of a task, with this message of the peer."""
        task.ask(question)
        task.work = asyncio.create_task(self._work(task))
        return task

    def find(self, task_id: str, *, owner: str) -> Task:
        task = self._known.get(task_id)
        if task is None or task.owner != owner:
            raise TaskNotFound(f"there is no task {task_id[:64]!r}")
        return task

    def of(self, owner: str) -> list[Task]:
        """All tasks of this peer, the last changed first."""
        mine = [task for task in self._known.values() if task.owner == owner]
        return sorted(mine, key=lambda task: task.status.at, reverse=True)

    def longest_chain(self) -> int:
        """The largest number of hops among the questions that are being answered."""
        return max((task.question.hops for task in self._known.values() if task.is_working), default=0)

    def cancel(self, task: Task) -> None:
        if task.is_over or task.work is None:
            raise TaskNotCancelable(f"the task is {task.status.state}")
        task.end(TaskState.CANCELED)
        task.work.cancel()

    def forget(self, task: Task) -> None:
        self._known.pop(task.id, None)

    async def _work(self, task: Task) -> None:
        try:
            asked = task.question
            turn = self._turns.take(asked.text, _session(task), kind=TurnKind.A2A, marks=asked.marks)
            async with aclosing(turn) as events:
                async for event in events:
                    _note(task, event)
        except HopFailure as failure:
            # A peer is not the owner. It hears which part failed, but not what the provider said about the account.
            task.end(TaskState.FAILED, note=f"the agent's {failure.hop} did not answer")
        except Exception:
            log.exception("task of a peer")
            task.end(TaskState.FAILED, note="the agent failed")
        finally:
            if task.is_working:
                task.end(TaskState.CANCELED)

    def _make_room(self) -> None:
        """Remove the oldest tasks without a running turn, until there is room for a new task."""
        resting = [task for task in self._known.values() if not task.is_working]
        kept = sum(task.size() for task in self._known.values())
        for task in resting:
            if len(self._known) < TASKS_AT_MOST and kept <= KEPT_BYTES:
                return
            kept -= task.size()
            self.forget(task)


def _note(task: Task, event: TurnEvent) -> None:
    match event:
        case Delta(text):
            task.say(text)
        case PartGiven(part):
            task.give(part)
        case Done(reply, _, ending):
            task.answer(reply, ending)


def _session(task: Task) -> str:
    """The engine session of this peer and context. The hash keeps a peer's conversations apart from the owner's,
    whatever context name the peer chooses.
    """
    digest = hashlib.sha256(f"{task.owner}\n{task.context_id}".encode()).hexdigest()
    return f"a2a-{digest[:40]}"
