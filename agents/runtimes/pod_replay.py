"""What a pod's gateway hands over of its replay, read as from a stranger: what is no entry is left out and counted.

No entry can make the figures of the same batch unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from agents.cause import Cause
from agents.pod.gateway.replay.entries import EntryKind, TurnDoor
from agents.pod.gateway.replay.texts import NAME_CHARACTERS, SHOWN_CHARACTERS
from agents.pod.gateway.spending.tokens import MOST_TOKENS, Tokens
from agents.pod.logs.lines import clean
from agents.pod.turns.failures import Hop

MOST_ENTRIES = 2_000  # of one batch
MOST_DAYS = 40
MOST = 2**31 - 1
SESSION, TURN, MODEL = 128, 16, 240  # characters
_CUT = 1  # the mark of a cut text


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEntry:
    at: datetime
    kind: str
    door: str
    session: str
    turn: str
    model: str
    tokens: Tokens | None
    is_estimated: bool
    ms: int | None
    hop: str
    cause: str
    error: str
    tool: str
    asked: str
    answered: str
    arguments: str

    @property
    def day(self) -> date:
        return self.at.date()


@dataclass(frozen=True, slots=True)
class ReplayBatch:
    """`not_kept` says of each day how many entries found no room in the gateway."""

    entries: list[RecordedEntry] = field(default_factory=list)
    not_kept: dict[date, int] = field(default_factory=dict)


def read(told: object, *, today: date) -> ReplayBatch:
    """The batch. A gateway of an earlier release tells none."""
    if not isinstance(told, Mapping):
        return ReplayBatch()
    raw, counts = told.get("entries"), told.get("not_kept")
    entries = raw if isinstance(raw, list) else []
    found = [entry for one in entries[:MOST_ENTRIES] if (entry := _entry(one)) is not None]
    not_kept = _counts(counts if isinstance(counts, Mapping) else {})
    if lost := len(entries) - len(found):
        not_kept[today] = min(not_kept.get(today, 0) + lost, MOST)
    return ReplayBatch(found, not_kept)


def _counts(told: Mapping[Any, Any]) -> dict[date, int]:
    found: dict[date, int] = {}
    for day, count in list(told.items())[:MOST_DAYS]:
        try:
            at = date.fromisoformat(day)
        except (TypeError, ValueError):
            continue
        if (known := _number(count)) is not None and known > 0:
            found[at] = known
    return found


def _entry(told: object) -> RecordedEntry | None:
    try:
        return _read(told) if isinstance(told, Mapping) else None
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def _read(told: Mapping[str, Any]) -> RecordedEntry:
    at = told["at"]
    if type(at) not in {int, float}:
        raise TypeError("at")
    kind = EntryKind(told["kind"])
    if kind is EntryKind.NOT_KEPT:
        raise ValueError("kind")
    has_tokens = kind is EntryKind.MODEL_CALL and "input" in told
    return RecordedEntry(
        at=datetime.fromtimestamp(at, UTC),
        kind=kind,
        door=_word(TurnDoor, told.get("door")),
        session=_text(told, "session", SESSION),
        turn=_text(told, "turn", TURN),
        model=_text(told, "model", MODEL),
        tokens=_tokens(told) if has_tokens else None,
        is_estimated=told.get("estimated") is True,
        ms=_number(told.get("ms")),
        hop=_word(Hop, told.get("hop")),
        cause=_word(Cause, told.get("cause")),
        error=_text(told, "error"),
        tool=_text(told, "tool", NAME_CHARACTERS + _CUT),
        asked=_text(told, "asked"),
        answered=_text(told, "answered"),
        arguments=_text(told, "arguments"),
    )


def _tokens(told: Mapping[str, Any]) -> Tokens:
    names = ("input", "cached", "written", "output")
    return Tokens(**{name: min(_number(told.get(name)) or 0, MOST_TOKENS) for name in names})


def _text(told: Mapping[str, Any], name: str, most: int = SHOWN_CHARACTERS + _CUT) -> str:
    """The text without what a terminal or a page would obey, cut to what its column takes."""
    value = told.get(name, "")
    if not isinstance(value, str):
        raise TypeError(name)
    return clean(value[:most]).encode("utf-8", "replace").decode()


def _word(words: type[TurnDoor | Hop | Cause], said: object) -> str:
    """A word that this release knows, else none."""
    return next((str(word) for word in words if word == said), "")


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST else None
