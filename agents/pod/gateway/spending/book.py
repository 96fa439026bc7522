"""The book of what model calls took, kept on the pod's disk until the control plane has it.

Rows are handed over in numbered batches, one at a time. The same batch is handed over again until its number comes back
as `ack`, so the control plane can add each batch exactly once. The file is replaced each second while there is news, so
a gateway that is killed loses a second of figures. It loses no call that was under way: its estimate is in the file.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from agents.pod.gateway.replay.unsent import WaitingEntries
from agents.pod.gateway.spending.tokens import Tokens

# More rows than this are not kept apart by their sessions, and not counted by their keys.
MOST_ROWS = 500
FORM = 1

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RowKey:
    """What calls are counted together."""

    day: str  # on which the call began, UTC
    provider: str
    model: str
    kind: str  # of the turn: chat, a2a, test, shared, engine
    session: str  # "" if no single session asked for it

    @property
    def full_model(self) -> str:
        """The model's id in the catalog."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class KeyRowKey:
    """What is counted together for an API key whose turns made the calls."""

    day: str
    provider: str
    model: str
    api_key: str  # its id

    @property
    def full_model(self) -> str:
        return f"{self.provider}:{self.model}"


Row = Counter[str]  # calls, failed, estimated, and the fields of Tokens
Rows = dict[RowKey, Row]
KeyRows = dict[KeyRowKey, Row]  # these calls are in Rows too: a call counts in full for each of its keys
_K = TypeVar("_K", RowKey, KeyRowKey)


def row_of(tokens: Tokens, *, estimated: bool = False) -> Row:
    """The row of one call that was answered."""
    return Counter({"calls": 1, "estimated": int(estimated), **asdict(tokens)})


class Book:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.news = asyncio.Event()  # there is something that the file does not have
        self.replay = WaitingEntries(self.news)  # what the agent did; it goes with the same batches
        self._begin()
        # The estimates of calls that are not over, with the API keys whose turns made them.
        self.under_way: dict[int, tuple[RowKey, Row, tuple[str, ...]]] = {}
        self.told: dict[str, Any] | None = None  # by the control plane, for the time after a restart
        self._load()

    def _begin(self) -> None:
        """Begin a new book. Its name tells its batches from those of all other books."""
        self.name = secrets.token_hex(12)
        self.number = 0  # of the last batch
        self._batch: Rows = {}
        self._rows: Rows = {}
        self._key_batch: KeyRows = {}
        self._key_rows: KeyRows = {}
        self.replay.clear()

    def add(self, key: RowKey, row: Mapping[str, int], api_keys: Iterable[str] = ()) -> None:
        """Count a call, and count it for each of these API keys."""
        for api_key in api_keys:
            self._add_for_key(KeyRowKey(key.day, key.provider, key.model, api_key), row)
        if key not in self._rows and len(self._rows) >= MOST_ROWS:
            key = RowKey(key.day, key.provider, key.model, key.kind, "")
        self._rows.setdefault(key, Counter()).update(row)
        self.news.set()

    def _add_for_key(self, key: KeyRowKey, row: Mapping[str, int]) -> None:
        if key in self._key_rows or len(self._key_rows) < MOST_ROWS:
            self._key_rows.setdefault(key, Counter()).update(row)

    def rows(self) -> Iterator[tuple[RowKey, Row]]:
        """All that the control plane may not have yet."""
        yield from self._batch.items()
        yield from self._rows.items()

    def key_rows(self, name: str, ack: int) -> Iterator[tuple[KeyRowKey, Row]]:
        """What a control plane does not have by API keys that has batch `ack` of the book `name`."""
        if (name, ack) != (self.name, self.number):
            yield from self._key_batch.items()
        yield from self._key_rows.items()

    def hand_over(self, name: str, ack: int) -> dict[str, Any]:
        """The batch that is due. `ack` is the last batch of the book `name` that the control plane has.

        If it has a batch that this book does not know, the machine has lost the newest state of the file. What is in it
        may be counted already, so a new book is begun: figures of a minute are lost, and none is counted twice.
        """
        if name == self.name and ack > self.number:
            log.warning("the book of model calls is older than what was read from it; it begins anew")
            self._begin()
        elif name == self.name and ack == self.number:
            self._batch, self._key_batch = {}, {}
            self.replay.confirmed()
        is_due = not self._batch and not self.replay.has_batch
        if is_due and (self._rows or self.replay.has_entries):
            self._batch, self._rows = self._rows, {}
            self._key_batch, self._key_rows = self._key_rows, {}
            self.replay.next_batch()
            self.number += 1
            self.news.set()
        self.keep()
        return {
            "book": self.name,
            "number": self.number,
            "rows": _told(self._batch),
            "key_rows": _told(self._key_batch),
            "replay": self.replay.told(),
        }

    def keep(self) -> None:
        """Write the file, if there is news. It is tried again with the next news."""
        if not self.news.is_set():
            return
        self.news.clear()
        state = {
            "form": FORM,
            "name": self.name,
            "number": self.number,
            "batch": _told(self._batch),
            "rows": _told(self._rows),
            "key_batch": _told(self._key_batch),
            "key_rows": _told(self._key_rows),
            "under_way": _told_pairs((key, row) for key, row, _ in self.under_way.values()),
            "keys_under_way": [api_keys for _, _, api_keys in self.under_way.values()],
            "told": self.told,
            "replay": self.replay.state(),
        }
        fresh = self._path.with_suffix(".tmp")
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(state, file)
            fresh.replace(self._path)
        except OSError as error:
            log.warning("%s: %s", self._path.name, error)

    def _load(self) -> None:
        try:
            state = json.loads(self._path.read_bytes())
            if state["form"] != FORM:
                return
            batch, rows = _read(state["batch"], RowKey), _read(state["rows"], RowKey)
            name, number, lost = str(state["name"]), int(state["number"]), _read_pairs(state["under_way"], RowKey)
            # An earlier release has written no figures by API keys.
            key_batch = _read(state.get("key_batch", []), KeyRowKey)
            key_rows = _read(state.get("key_rows", []), KeyRowKey)
            lost_keys = [tuple(map(str, one)) for one in state.get("keys_under_way", [])]
            told: dict[str, Any] | None = state["told"]
            replay = state.get("replay")
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s cannot be read, a new one is begun (%s)", self._path.name, type(error).__name__)
            return
        self.name, self.number, self._batch, self._rows, self.told = name, number, batch, rows, told
        self._key_batch, self._key_rows = key_batch, key_rows
        # A gateway was killed while these ran; the vendor may charge for them.
        for number, (key, row) in enumerate(lost):
            self.add(key, row, lost_keys[number] if number < len(lost_keys) else ())
        self._load_replay(replay)

    def _load_replay(self, state: Any) -> None:
        """What cannot be read is left out; the figures stay."""
        try:
            self.replay.load(state or {})
        except (KeyError, TypeError, ValueError, AttributeError):
            self.replay.clear()


def _told(rows: Mapping[_K, Row]) -> list[dict[str, Any]]:
    return _told_pairs(rows.items())


def _told_pairs(rows: Iterable[tuple[_K, Row]]) -> list[dict[str, Any]]:
    return [{**asdict(key), **row} for key, row in rows]


def _read(told: list[dict[str, Any]], form: type[_K]) -> dict[_K, Row]:
    return dict(_read_pairs(told, form))


def _read_pairs(told: list[dict[str, Any]], form: type[_K]) -> list[tuple[_K, Row]]:
    names = form.__slots__
    return [
        (
            form(**{name: str(one[name]) for name in names}),
            Counter({name: int(value) for name, value in one.items() if name not in names}),
        )
        for one in told
    ]
