"""Counts which hosts the engine asks for, until the control plane has the counts.

As the book of model calls, it hands rows over in numbered batches, the same one again until its number comes back. It
is kept in memory: a gateway that is killed loses the counts of half a minute.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from agents.pod.gateway.answers import Refusal

# More hosts than this between two exchanges are counted together. Refused ones have places of their own: an engine may
# make up as many names as it likes, and they must not hide where it really was.
MOST_ALLOWED, MOST_REFUSED = 200, 100
OTHERS = "*"

_Key = tuple[str, str, bool]  # day, host, whether it was refused
_Counts = list[int]  # visits, bytes sent, bytes received


@dataclass(slots=True, eq=False)
class HostVisit:
    """A connection to a host, or a request to it, while it is open."""

    host: str
    is_counted: bool = False
    sent: int = 0
    received: int = 0
    last: float = 0.0  # when something went by, on the loop's clock

    def went(self, *, sent: int = 0, received: int = 0) -> None:
        self.sent += sent
        self.received += received
        self.last = asyncio.get_running_loop().time()


class VisitBook:
    def __init__(self, day: Callable[[], str]) -> None:
        self._day = day
        self._name = secrets.token_hex(12)
        self._number = 0
        self._batch: dict[_Key, _Counts] = {}
        self._rows: dict[_Key, _Counts] = {}
        self._open: set[HostVisit] = set()

    @property
    def open_visits(self) -> int:
        return len(self._open)

    def refused(self, host: str) -> None:
        self._add(host, is_refused=True, counts=[1, 0, 0])

    @contextmanager
    def visit(self, host: str) -> Iterator[HostVisit]:
        """Count the visit. One that ends with a refusal was refused."""
        visit = HostVisit(host)
        self._open.add(visit)
        try:
            yield visit
        except Refusal as refusal:
            if refusal.status == HTTPStatus.FORBIDDEN and not visit.is_counted:
                self.refused(host)
                visit.is_counted = True
            raise
        finally:
            self._open.discard(visit)
            self._settle(visit)

    def _settle(self, visit: HostVisit) -> None:
        """Count what is new of this visit."""
        counts = [int(not visit.is_counted), visit.sent, visit.received]
        visit.is_counted, visit.sent, visit.received = True, 0, 0
        if any(counts):
            self._add(visit.host, is_refused=False, counts=counts)

    def _add(self, host: str, *, is_refused: bool, counts: _Counts) -> None:
        key = (self._day(), host, is_refused)
        if key not in self._rows and not self._has_room(is_refused=is_refused):
            key = (key[0], OTHERS, is_refused)
        self._rows[key] = [had + more for had, more in zip(self._rows.get(key, [0, 0, 0]), counts, strict=True)]

    def _has_room(self, *, is_refused: bool) -> bool:
        return sum(key[2] is is_refused for key in self._rows) < (MOST_REFUSED if is_refused else MOST_ALLOWED)

    def exchange(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The batch that is due, for an answer to the control plane; empty for one that does not ask for it."""
        told = body.get("egress")
        if not isinstance(told, dict):
            return {}
        if told.get("book") == self._name and told.get("ack") == self._number:
            self._batch = {}
        for visit in self._open:
            self._settle(visit)
        if not self._batch and self._rows:
            self._batch, self._rows = self._rows, {}
            self._number += 1
        return {"egress": {"book": self._name, "number": self._number, "rows": _told(self._batch)}}


def _told(rows: Mapping[_Key, _Counts]) -> list[dict[str, Any]]:
    return [
        {"day": day, "host": host, "refused": refused, "count": count, "sent": sent, "received": got}
        for (day, host, refused), (count, sent, got) in rows.items()
    ]
