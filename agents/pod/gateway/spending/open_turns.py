"""For which turn the engine calls its model. Engines do not say it, so it is known while one turn runs alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

# Calls outside of the gateway's turns (a channel's message, a schedule) belong together until this much silence.
SILENCE_SECONDS = 30.0


class TurnKind(StrEnum):
    CHAT = "chat"
    A2A = "a2a"
    TEST = "test"
    SHARED = "shared"  # several turns run at once
    ENGINE = "engine"  # no turn through the gateway runs: the engine's own channels, schedules and pages


@dataclass(frozen=True, slots=True, eq=False)
class OpenTurn:
    kind: TurnKind
    session: str
    id: str  # in the replay
    api_keys: tuple[str, ...]  # the ids of the API keys that started the turn: one, or more through a peer, or none


class OpenTurns:
    def __init__(self) -> None:
        self._turns: list[OpenTurn] = []
        self._ended: dict[str, float] = {}  # by API key: the end of its last turn, if that was less than a silence ago
        self._tokens = 0
        self._last = float("-inf")

    @contextmanager
    def turn(self, kind: TurnKind, session: str, turn: str = "", api_keys: tuple[str, ...] = ()) -> Iterator[None]:
        """A turn runs. `turn` is its id in the replay."""
        if not self._turns:
            self._tokens = 0
        opened = OpenTurn(kind, session, turn, api_keys)
        self._turns.append(opened)
        try:
            yield
        finally:
            self._turns.remove(opened)
            self._last = time.monotonic()
            self._end_of(api_keys)

    def _end_of(self, api_keys: tuple[str, ...]) -> None:
        since = self._last - SILENCE_SECONDS
        self._ended = {key: at for key, at in self._ended.items() if at > since}
        self._ended |= dict.fromkeys(api_keys, self._last)

    @property
    def api_keys(self) -> tuple[str, ...]:
        """The API keys for which a call of this moment counts: those of all open turns, because nobody knows for which
        of them it is. While no turn is open, those whose turn has just ended: an engine may finish its work later.
        """
        if self._turns:
            return tuple(sorted({key for turn in self._turns for key in turn.api_keys}))
        since = time.monotonic() - SILENCE_SECONDS
        return tuple(sorted(key for key, at in self._ended.items() if at > since))

    @property
    def asking(self) -> tuple[TurnKind, str]:
        """Kind and session of the turn to which a call of this moment belongs."""
        kind, session, _ = self.asking_turn
        return kind, session

    @property
    def asking_turn(self) -> tuple[TurnKind, str, str]:
        """The same, with the turn's id."""
        if not self._turns:
            return TurnKind.ENGINE, "", ""
        if len(self._turns) > 1:
            return TurnKind.SHARED, "", ""
        only = self._turns[0]
        return only.kind, only.session, only.id

    @property
    def count(self) -> int:
        """How many turns share `tokens`."""
        return max(1, len(self._turns))

    @property
    def tokens(self) -> int:
        """What the turns that run, or the calls of the engine's own turn, have taken."""
        if not self._turns and time.monotonic() - self._last > SILENCE_SECONDS:
            self._tokens = 0
        return self._tokens

    def add(self, tokens: int) -> None:
        """A call is over."""
        self._tokens = self.tokens + tokens
        self._last = time.monotonic()
