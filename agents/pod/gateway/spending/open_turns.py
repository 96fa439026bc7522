"""For which turn the engine calls its model. Engines do not say it, so it is known while one turn runs alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

# Calls outside of the gateway's turns (a channel's message, a schedule) belong together until this much silence.
SILENCE_SECONDS = 30.0


class TurnKind(StrEnum):
    CHAT = "chat"
    A2A = "a2a"
    TEST = "test"
    SHARED = "shared"  # several turns run at once
    ENGINE = "engine"  # no turn through the gateway runs: the engine's own channels, schedules and pages


class OpenTurns:
    def __init__(self) -> None:
        self._turns: list[tuple[TurnKind, str, str]] = []
        self._tokens = 0
        self._last = float("-inf")

    @contextmanager
    def turn(self, kind: TurnKind, session: str, turn: str = "") -> Iterator[None]:
        """A turn runs. `turn` is its id in the replay."""
        if not self._turns:
            self._tokens = 0
        self._turns.append((kind, session, turn))
        try:
            yield
        finally:
            self._turns.remove((kind, session, turn))
            self._last = time.monotonic()

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
        return self._turns[0] if len(self._turns) == 1 else (TurnKind.SHARED, "", "")

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
