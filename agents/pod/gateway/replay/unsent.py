"""The entries that the control plane does not have yet. They have a limited room; what finds none is counted."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agents.pod.gateway.replay.entries import Entry

MOST_BYTES = 512 * 1024  # of all that wait
BATCH_BYTES = 256 * 1024
MOST_A_DAY = 2_000  # of at most 5 KB each in the database
MOST_DAYS = 31


class WaitingEntries:
    """Its batches are those of the book of model calls, so each entry arrives once (agents/pod/gateway/spending)."""

    def __init__(self, news: asyncio.Event) -> None:
        """`news` is set when there is something to write to the file."""
        self.under_way: dict[int, Entry] = {}  # what is told of a turn or call if this gateway is killed before its end
        self._news = news
        self._next = 0
        self.clear()

    def clear(self) -> None:
        """Forget all that waits, also the batch that is being handed over."""
        self._batch: list[Entry] = []
        self._batch_not_kept: Counter[str] = Counter()
        self._entries: deque[tuple[Entry, int]] = deque()
        self._bytes = 0
        self._not_kept: Counter[str] = Counter()
        self._today: tuple[str, int] = ("", 0)
        self.under_way.clear()
        self._news.set()

    @property
    def has_batch(self) -> bool:
        return bool(self._batch or self._batch_not_kept)

    @property
    def has_entries(self) -> bool:
        return bool(self._entries or self._not_kept)

    def has_room(self, day: str) -> bool:
        """Whether another entry of this day is kept. If not, its texts need not be read."""
        return self._count(day) < MOST_A_DAY and self._bytes < MOST_BYTES

    def _count(self, day: str) -> int:
        return self._today[1] if self._today[0] == day else 0

    def add(self, entry: Entry) -> None:
        day = _day(entry)
        count, size = self._count(day), len(json.dumps(entry))
        if count >= MOST_A_DAY or self._bytes + size > MOST_BYTES:
            self.drop(1, day=day)
            return
        self._today = (day, count + 1)
        self._entries.append((entry, size))
        self._bytes += size
        self._news.set()

    def drop(self, count: int, *, day: str) -> None:
        """So many entries of this day are not kept."""
        self._not_kept[day] += count
        if len(self._not_kept) > MOST_DAYS:
            del self._not_kept[min(self._not_kept)]
        self._news.set()

    def begin(self, entry: Entry) -> int:
        """A turn or call begins. `entry` is added if this gateway is killed before `end`."""
        number, self._next = self._next, self._next + 1
        self.under_way[number] = entry
        self._news.set()
        return number

    def end(self, number: int) -> bool:
        """It is over. Returns whether it is still wanted: not if all was forgotten in between."""
        self._news.set()
        return self.under_way.pop(number, None) is not None

    def confirmed(self) -> None:
        """The control plane has the batch."""
        self._batch, self._batch_not_kept = [], Counter()

    def next_batch(self) -> None:
        size = 0
        while self._entries and size + self._entries[0][1] <= BATCH_BYTES:
            entry, length = self._entries.popleft()
            size += length
            self._batch.append(entry)
        self._bytes -= size
        self._batch_not_kept, self._not_kept = self._not_kept, Counter()

    def told(self) -> dict[str, Any]:
        """The batch, as it is handed over."""
        return {"entries": self._batch, "not_kept": self._batch_not_kept}

    def state(self) -> dict[str, Any]:
        """All of it, for the file."""
        return {
            "batch": self._batch,
            "batch_not_kept": self._batch_not_kept,
            "entries": [entry for entry, _ in self._entries],
            "not_kept": self._not_kept,
            "today": self._today,
            "under_way": list(self.under_way.values()),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Raises KeyError, TypeError, ValueError or AttributeError for anything else than a state."""
        self._batch = [dict(entry) for entry in state["batch"]]
        self._batch_not_kept, self._not_kept = Counter(state["batch_not_kept"]), Counter(state["not_kept"])
        day, count = state["today"]
        self._today = (str(day), int(count))
        self._entries = deque((dict(entry), len(json.dumps(entry))) for entry in state["entries"])
        self._bytes = sum(size for _, size in self._entries)
        for entry in state["under_way"]:  # a gateway was killed while these ran
            self.add(dict(entry))


def _day(entry: Entry) -> str:
    return datetime.fromtimestamp(entry["at"], UTC).date().isoformat()
