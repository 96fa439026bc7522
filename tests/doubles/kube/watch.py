"""Watches: the changes since a version, one line of JSON each, until the time is over or a test cuts them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.doubles.kube.failures import expired
from tests.doubles.kube.resources import Object, Resource
from tests.doubles.kube.selectors import Selector
from tests.doubles.kube.store import Change, Store

Send = Callable[[bytes], None]


@dataclass(kw_only=True)
class WatchDouble:
    """One open stream. `is_cut` ends it without a word; `is_mute` leaves it open and never sends anything again."""

    resource: Resource
    namespace: str
    wanted: Selector
    since: int
    until: float  # monotonic seconds
    bookmarks: bool
    is_left: Callable[[], bool]
    is_cut: bool = False
    is_mute: bool = False
    is_expired: bool = False


@dataclass
class Watches:
    store: Store
    bookmark_seconds: float
    open: list[WatchDouble] = field(default_factory=list)
    # Whether a version that is too old gets 410 in an event instead of as the answer's status.
    expires_by_event: bool = False

    def serve(self, watch: WatchDouble, send: Send) -> bool:
        """Stream changes. Returns True at a normal end, and False when the connection must be dropped."""
        with self.store.changed:
            self.open.append(watch)
            watch.is_expired = watch.since < self.store.oldest
            self.store.changed.notify_all()
        try:
            return self._stream(watch, send)
        finally:
            with self.store.changed:
                self.open.remove(watch)

    def _stream(self, watch: WatchDouble, send: Send) -> bool:
        while True:
            lines, ends = self._next(watch)
            if watch.is_cut:
                return False
            if watch.is_mute:
                continue
            if watch.is_expired:
                send(_line("ERROR", expired(watch.since, self.store.oldest).status))
                return True
            if ends or not lines:
                lines.append(self._bookmark(watch))
            send(b"".join(line for line in lines if line))
            if ends:
                return True

    def _next(self, watch: WatchDouble) -> tuple[list[bytes], bool]:
        """Wait for the next lines (none for a bookmark). The second value says whether the watch's time is over."""
        store, resource = self.store, watch.resource
        due = time.monotonic() + self.bookmark_seconds
        with store.changed:
            while True:
                lines = [
                    line
                    for change in store.log[watch.since :]
                    if change.kind == resource.kind and watch.namespace in ("", change.namespace)
                    if (line := _seen(change, watch.wanted))
                ]
                watch.since = store.version
                left = min(due, watch.until) - time.monotonic()
                if watch.is_cut or watch.is_expired or ((lines or left <= 0) and not watch.is_mute):
                    return lines, time.monotonic() >= watch.until
                store.changed.wait(None if watch.is_mute else left)

    def _bookmark(self, watch: WatchDouble) -> bytes:
        if not watch.bookmarks:
            return b""
        resource = watch.resource
        metadata = {"resourceVersion": str(watch.since), "creationTimestamp": None}
        return _line("BOOKMARK", {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata})

    def count(self) -> int:
        """The number of streams that have a client and are not mute."""
        with self.store.changed:
            return sum(not watch.is_mute and not watch.is_left() for watch in self.open)

    def cut(self, *, silently: bool) -> None:
        self._tell("is_mute" if silently else "is_cut")

    def expire(self) -> None:
        self._tell("is_expired")

    def _tell(self, what: str) -> None:
        with self.store.changed:
            for watch in self.open:
                setattr(watch, what, True)
            self.store.changed.notify_all()


def _line(type: str, obj: Object) -> bytes:
    return json.dumps({"type": type, "object": obj}).encode() + b"\n"


def _seen(change: Change, wanted: Selector) -> bytes:
    """The change as this watch sees it: an object that leaves the selection is deleted, one that enters is added."""
    is_in = change.type != "DELETED" and wanted(change.object)
    was_in = change.old is not None and wanted(change.old)
    if is_in:
        return change.line("MODIFIED" if was_in else "ADDED")
    return change.line("DELETED") if was_in else b""


def initial(objects: list[Object]) -> bytes:
    """The first lines of a watch without a version."""
    return b"".join(_line("ADDED", obj) for obj in objects)
