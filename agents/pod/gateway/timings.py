"""How long the parts of a turn took, for the control plane, which makes spans of them when it traces the turn.

A pod has no way to the collector of traces: an engine shares the pod's network, and would have it too. So the gateway
keeps the times of a few turns for a minute, and the control plane asks for them after the turn. Times are seconds since
the turn began, so that the clock of the pod does not matter. There are no texts of anybody in them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
MOST_TURNS = 32
MOST_PARTS = 64  # of one turn
KEPT_SECONDS = 60.0


@dataclass(slots=True)
class TimedPart:
    name: str
    begin: float
    end: float | None = None
    failed: bool = False


@dataclass(slots=True)
class TimedTurn:
    began: float
    parts: list[TimedPart] = field(default_factory=list)
    is_over: bool = False

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        if len(self.parts) >= MOST_PARTS:
            yield
            return
        one = TimedPart(name, time.monotonic() - self.began)
        self.parts.append(one)
        try:
            yield
        except BaseException:
            one.failed = True
            raise
        finally:
            one.end = time.monotonic() - self.began


_turn: ContextVar[TimedTurn | None] = ContextVar("turn", default=None)


class Timings:
    def __init__(self) -> None:
        self._turns: dict[str, TimedTurn] = {}

    @contextmanager
    def turn(self, traceparent: str) -> Iterator[None]:
        """Time this turn, if the control plane traces it."""
        found = TRACEPARENT.fullmatch(traceparent)
        if not found:
            yield
            return
        self._forget()
        turn = self._turns[found[2]] = TimedTurn(time.monotonic())
        token = _turn.set(turn)
        try:
            with turn.part("turn"):
                yield
        finally:
            turn.is_over = True
            _turn.reset(token)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time a part of the turn in whose task this runs."""
        turn = _turn.get()
        with turn.part(name) if turn else _nothing():
            yield

    @contextmanager
    def model_call(self) -> Iterator[None]:
        """Time a call of the engine to its model. The engine does not say for which turn it calls: if several run at
        once, the call belongs to none."""
        running = [turn for turn in self._turns.values() if not turn.is_over]
        with running[0].part("model call") if len(running) == 1 else _nothing():
            yield

    def take(self, span: str) -> list[dict[str, Any]]:
        """The parts of the turn that this span asked for, and forget them."""
        turn = self._turns.pop(span, None)
        parts = turn.parts if turn else []
        return [{"name": one.name, "begin": one.begin, "end": one.end, "failed": one.failed} for one in parts]

    def _forget(self) -> None:
        old = time.monotonic() - KEPT_SECONDS
        for span, turn in [*self._turns.items()]:
            if (turn.is_over and turn.began < old) or len(self._turns) >= MOST_TURNS:
                del self._turns[span]


@contextmanager
def _nothing() -> Iterator[None]:
    yield
