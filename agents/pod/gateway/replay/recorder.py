"""Records turns, model calls and the tools that models ask for, while the agent's owner wants that."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agents.cause import Cause
from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm.body import Body
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.reasons import FailureReason, of_model
from agents.pod.gateway.replay.entries import CAUSES, Entry, EntryKind, TurnDoor
from agents.pod.gateway.replay.questions import last_message
from agents.pod.gateway.replay.texts import NAME_CHARACTERS, SHOWN_CHARACTERS, short
from agents.pod.gateway.replay.unsent import WaitingEntries
from agents.pod.gateway.spending.calls import MeteredCall
from agents.pod.gateway.spending.clock import SharedClock
from agents.pod.gateway.spending.open_turns import OpenTurns, TurnKind
from agents.pod.logs.lines import with_lines
from agents.pod.turns.failures import HopFailure

MOST_MESSAGES = 100
SESSION_CHARACTERS = 128
KILLED = "the pod's gateway ended before this did"
LEFT = "who had asked did not wait for the end"
ENGINE_LEFT = "the engine did not wait for the answer"


@dataclass(slots=True)
class TurnNote:
    """A turn that runs."""

    door: TurnDoor
    session: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: float = field(default_factory=time.monotonic)
    answered: str = ""
    is_over: bool = False  # the answer is complete, whether or not somebody waits for it

    def entry(self) -> Entry:
        return {"door": self.door, "session": self.session, "turn": self.id}


class ReplayRecorder:
    def __init__(self, pod: Pod, clock: SharedClock, turns: OpenTurns, waiting: WaitingEntries) -> None:
        self._pod = pod
        self._clock = clock
        self._turns = turns
        self._waiting = waiting
        self._is_on = True  # until the control plane has told: its first exchange comes within seconds
        self._messages: dict[str, TurnNote] = {}  # of channels, by the message's name

    def switch(self, is_on: bool) -> None:
        """What waits when the owner switches it off is forgotten."""
        if not is_on and (self._is_on or self._waiting.has_entries or self._waiting.has_batch):
            self._waiting.clear()
            self._messages.clear()
        self._is_on = is_on

    @contextmanager
    def turn(self, kind: TurnKind, session: str, message: str) -> Iterator[TurnNote]:
        """Record this turn. The caller notes what was answered."""
        note = TurnNote(TurnDoor(kind), self._short(session, most=SESSION_CHARACTERS))
        number = self._begin_turn(note, asked=message) if self._is_on else None
        try:
            yield note
        except HopFailure as failure:
            self._end_turn(note, number, failure)
            raise
        except BaseException:
            self._end_turn(note, number, None, error="" if note.is_over else LEFT)
            raise
        self._end_turn(note, number)

    def take_message(self, name: str, *, is_over: bool) -> None:
        """A channel's message is at the engine. Its text is not recorded, as the service adds people's names and phone
        numbers to it.
        """
        note = self._messages.pop(name, None)
        if not self._is_on:
            return
        if note is None:
            note = TurnNote(TurnDoor.CHANNEL)
            self._add(EntryKind.TURN_BEGAN, **note.entry())
        if is_over:
            self._add(EntryKind.TURN_ENDED, **note.entry(), ms=_since(note.began))
        else:
            self._messages[name] = note
            if len(self._messages) > MOST_MESSAGES:
                del self._messages[next(iter(self._messages))]

    @contextmanager
    def call(self, call: MeteredCall, body: Body) -> Iterator[None]:
        """Record this model call, and the tools that its answer asks for. Without room it is only counted: a flood must
        not cost the gateway's time.
        """
        day = self._clock.day()
        if call.protocol is None or not self._is_on or not self._waiting.has_room(day):
            if call.protocol and self._is_on:
                self._waiting.drop(1, day=day)
            yield
            return
        call.is_read = True
        asking = self._asking()
        asked = "" if asking["door"] is TurnDoor.CHANNEL else self._short(last_message(body))
        entry = {**asking, "model": call.key.full_model, "asked": asked}
        at, began = self._clock.now(), time.monotonic()
        number = self._waiting.begin(self._entry(EntryKind.MODEL_CALL, at=at, **entry, error=KILLED))
        error = ""
        try:
            yield
        except Refusal as refusal:
            error = refusal.message
            raise
        except BaseException:
            error = ENGINE_LEFT
            raise
        finally:
            if self._waiting.end(number):
                self._end_call(call, {**entry, "at": at, "ms": _since(began)}, error)

    def _begin_turn(self, note: TurnNote, *, asked: str) -> int:
        self._add(EntryKind.TURN_BEGAN, **note.entry(), asked=self._short(asked))
        return self._waiting.begin(self._entry(EntryKind.TURN_FAILED, **note.entry(), error=KILLED))

    def _end_turn(
        self, note: TurnNote, number: int | None, failure: HopFailure | None = None, *, error: str = ""
    ) -> None:
        if number is None or not self._waiting.end(number):
            return
        kind = EntryKind.TURN_FAILED if failure or error else EntryKind.TURN_ENDED
        told = {**note.entry(), "ms": _since(note.began), "answered": self._short(note.answered)}
        if failure:
            told |= {"hop": failure.hop, "cause": _cause(failure.reason)}
        self._add(kind, **told, error=self._short(failure.message if failure else error))

    def _end_call(self, call: MeteredCall, entry: Entry, error: str) -> None:
        if failure := call.failure:
            error = failure.message
            entry["cause"] = call.cause or CAUSES.get(of_model(failure) or FailureReason.NO_MODEL)
        if call.is_counted:
            tokens, estimated = call.taken()
            entry |= {"input": tokens.input, "cached": tokens.cached, "written": tokens.written}
            entry |= {"output": tokens.output, "estimated": estimated}
        texts = call.texts
        if texts:
            texts.finish()
            entry["answered"] = self._short(texts.text)
        self._add(EntryKind.MODEL_CALL, **entry, error=self._short(error))
        if texts:
            about = {name: entry[name] for name in ("door", "session", "turn", "model")}
            for tool in texts.tools:
                name = self._short(tool.name, most=NAME_CHARACTERS)
                self._add(EntryKind.TOOL_CALL, **about, tool=name, arguments=self._short(tool.arguments))
            if texts.more_tools:
                self._waiting.drop(texts.more_tools, day=self._clock.day())

    def _asking(self) -> Entry:
        """The turn to which a call of this moment belongs, as far as it is known."""
        kind, session, turn = self._turns.asking_turn
        if kind is TurnKind.ENGINE and self._messages:
            notes = list(self._messages.values())
            return notes[0].entry() if len(notes) == 1 else {**notes[0].entry(), "turn": ""}
        return {"door": TurnDoor(kind), "session": self._short(session, most=SESSION_CHARACTERS), "turn": turn}

    def _add(self, kind: EntryKind, **told: Any) -> None:
        self._waiting.add(self._entry(kind, **told))

    def _entry(self, kind: EntryKind, **told: Any) -> Entry:
        """Values that are empty are left out."""
        at = told.pop("at", None) or self._clock.now()
        return {"at": round(at, 6), "kind": kind, **{name: one for name, one in told.items() if one not in ("", None)}}

    def _short(self, text: str, *, most: int = SHOWN_CHARACTERS) -> str:
        return short(text, with_lines(self._pod.secret_texts()), most=most) if text else ""


def _cause(reason: str | None) -> Cause | None:
    return next((cause for word, cause in CAUSES.items() if word == reason), None)


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
