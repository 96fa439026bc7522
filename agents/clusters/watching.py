"""One list and its watch: keeps in memory what is read of one kind of object, until told to stop.

After a failure the next try waits longer each time, for a partly random time, so that not all come back at once. What
is doubtful is listed again: a version that is too old, a server without a sign of life, a list that is older than what
was seen. A stream that fell silent is opened again at the same version: it may have been cut, or nothing has happened.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from agents.clusters import objects
from agents.clusters.api.client import ApiRefused, ClusterFailure, Stream
from agents.clusters.objects import Json
from agents.runtimes.base import RuntimeFailure

log = logging.getLogger(__name__)

LIST_SECONDS = 30.0
WATCH_SECONDS = 300  # up to a fifth more or less
# Bookmarks come each minute, at least where the store reports its progress. Otherwise a client that missed nothing gets
# none.
SILENCE_SECONDS = 90.0
RELIST_SECONDS = 1800.0
LONGEST_PAUSE_SECONDS = 30.0
# A watch that ends sooner is no success, even without an error.
SHORT_SECONDS = 10.0
EXPIRED = 410


class WatchSource(Protocol):
    """An API server (agents.clusters.api.client.Connection)."""

    def get(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float = ...) -> Json: ...

    def lines(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float) -> Stream: ...


@dataclass(frozen=True, slots=True)
class WatchedKind:
    path: str
    list_kind: str
    keep: Callable[[Json], Json]


NAMESPACES = WatchedKind("/api/v1/namespaces", "NamespaceList", objects.keep_namespace)
DEPLOYMENTS = WatchedKind("/apis/apps/v1/deployments", "DeploymentList", objects.keep_deployment)
PODS = WatchedKind("/api/v1/pods", "PodList", objects.keep_pod)


def guarded(kind: str, group: str, plural: str) -> WatchedKind:
    """A kind of objects that must stay as the driver made them. Only a digest of each is kept in memory."""
    root = "/apis" if "/" in group else "/api"
    return WatchedKind(f"{root}/{group}/{plural}", f"{kind}List", partial(objects.keep_digest, kind))


class Doubtful(Exception):
    """What was received cannot be trusted: list again."""


class Watch:
    """Calls `changed` with namespaces in which something may be different. `take_gone` gives those that were seen to
    end."""

    def __init__(
        self,
        source: WatchSource,
        kind: WatchedKind,
        *,
        selector: str,
        changed: Callable[[set[str]], None],
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._source, self._kind, self._selector, self._changed = source, kind, selector, changed
        self._clock, self._chance = clock, chance
        self._lock = threading.Lock()
        self._objects: dict[str, dict[str, Json]] = {}
        self._gone: set[str] = set()
        self._version: str | None = None  # the version to watch from; None: list first
        self._highest: int | None = None
        self._relist_at = 0.0
        self._heard_at = 0.0
        self._is_open = self._was_useful = False
        self._failures = 0
        self.is_complete = False

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            stop.wait(self.turn(stop))

    def turn(self, stop: threading.Event) -> float:
        """Take one list, if it is due, and follow one watch until its end. Returns how many seconds to wait before the
        next."""
        began, ended_well, self._was_useful = self._clock(), False, False
        try:
            self._list_if_due()
            self._follow_until_silent(stop)
            ended_well = self._clock() - began >= SHORT_SECONDS
        except RuntimeFailure as failure:
            self._doubt(failure)
        except Doubtful as doubt:
            log.info("a watch starts again", extra={"path": self._kind.path, "why": str(doubt)})
            self._version = None
        except Exception:
            log.exception("a watch failed", extra={"path": self._kind.path})
            self._version = None
        self._is_open = False
        return self._pause(ended_well)

    def of(self, namespace: str) -> list[Json]:
        with self._lock:
            return list(self._objects.get(namespace, {}).values())

    def namespaces(self) -> set[str]:
        with self._lock:
            return set(self._objects)

    def take_gone(self) -> set[str]:
        """Namespaces that were seen to end since the last call."""
        with self._lock:
            gone, self._gone = self._gone, set()
            return gone - set(self._objects)

    def is_alive(self) -> bool:
        """Whether the watch is complete, and its stream is open and was not silent for too long."""
        return self.is_complete and self._is_open and self._clock() - self._heard_at < SILENCE_SECONDS

    # Failures.

    def _doubt(self, failure: RuntimeFailure) -> None:
        """A stream that broke off goes on where it ended, unless the version is too old or the stream was silent for
        long."""
        log.warning("a watch failed", extra={"path": self._kind.path, "error": str(failure)})
        expired = isinstance(failure, ApiRefused) and failure.status == EXPIRED
        if expired or self._clock() - self._heard_at >= SILENCE_SECONDS:
            self._version = None

    def _pause(self, ended_well: bool) -> float:
        """Seconds to wait. Half of the wait is random, so that many watches do not come back at once. The other half is
        fixed, so that there is a wait."""
        if self._was_useful or ended_well:
            self._failures = 0
        if ended_well:
            return self._chance() / 5
        self._failures += 1
        longest = min(LONGEST_PAUSE_SECONDS, 2.0 ** min(self._failures - 1, 10))
        return longest / 2 * (1 + self._chance())

    # The list.

    def _list_if_due(self) -> None:
        if self._version is not None and self._clock() < self._relist_at:
            return
        body = self._list({"resourceVersion": "0"})  # from the server's cache; that costs the store behind it nothing
        if self._is_older(body):
            body = self._list({})
        version = str(body["metadata"]["resourceVersion"])
        self._replace(body["items"])
        self._highest = int(version) if version.isdigit() else None
        self._version, self._heard_at, self.is_complete = version, self._clock(), True
        self._relist_at = self._clock() + RELIST_SECONDS * (0.9 + self._chance() / 5)

    def _list(self, query: dict[str, str]) -> Json:
        body = self._source.get(self._kind.path, {"labelSelector": self._selector, **query}, seconds=LIST_SECONDS)
        is_list = body.get("kind") == self._kind.list_kind and isinstance(body.get("items"), list)
        if not is_list or not (body.get("metadata") or {}).get("resourceVersion"):
            raise ClusterFailure("", f"{self._kind.path} answered {body.get('kind')}, not {self._kind.list_kind}")
        return body

    def _is_older(self, body: Json) -> bool:
        """Whether the list is older than what was seen already. If that is unknown, it counts as older: then the list
        is read from the store itself."""
        version = str(body["metadata"]["resourceVersion"])
        return self._highest is not None and (not version.isdigit() or int(version) < self._highest)

    def _replace(self, items: list[Json]) -> None:
        found: dict[str, dict[str, Json]] = {}
        for item in items:
            kept = self._kind.keep(item)
            namespace, name = _place(kept)
            found.setdefault(namespace, {})[name] = kept
        with self._lock:
            before, self._objects = self._objects, found
        changed = {name for name in {*before, *found} if before.get(name) != found.get(name)}
        self._changed(changed)

    # The watch.

    def _follow_until_silent(self, stop: threading.Event) -> None:
        began = self._clock()
        try:
            self._follow(stop)
        except ClusterFailure:
            silent = self._clock() - self._heard_at
            if self._heard_at < began or silent < SILENCE_SECONDS:
                raise
            log.info("a watch was silent", extra={"path": self._kind.path, "seconds": round(silent)})

    def _follow(self, stop: threading.Event) -> None:
        query = {
            "watch": "true",
            "labelSelector": self._selector,
            "resourceVersion": str(self._version),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(int(WATCH_SECONDS * (0.8 + 0.4 * self._chance()))),
        }
        self._is_open = True
        with closing(self._source.lines(self._kind.path, query, seconds=SILENCE_SECONDS)) as lines:
            for line in lines:
                if stop.is_set():
                    return
                self._heard_at = self._clock()
                if line.strip():
                    self._take(_event(line))

    def _take(self, event: Json) -> None:
        what, obj = str(event.get("type")), event["object"]
        if what == "ERROR":
            raise Doubtful(f"{obj.get('code')} {obj.get('message')}")
        version = str(obj["metadata"]["resourceVersion"])
        if what in {"ADDED", "MODIFIED", "DELETED"}:
            self._apply(what, self._kind.keep(obj))
        self._was_useful, self._version = True, version
        if version.isdigit():
            self._highest = max(self._highest or 0, int(version))

    def _apply(self, what: str, kept: Json) -> None:
        namespace, name = _place(kept)
        with self._lock:
            known = self._objects.setdefault(namespace, {})
            before = known.get(name)
            if what == "DELETED":
                known.pop(name, None)
                if objects.is_deleted(kept):  # else the object only lost a label that we select
                    self._gone.add(namespace)
            else:
                known[name] = kept
            if not known:
                del self._objects[namespace]
        if what == "DELETED" or before != kept:
            self._changed({namespace})


def _place(obj: Json) -> tuple[str, str]:
    """Namespace and name of an object. For a namespace both are its name."""
    name = str(obj["metadata"]["name"])
    return str(obj["metadata"].get("namespace") or name), name


def _event(line: bytes) -> Json:
    """Read an event. Raises Doubtful for a line that was cut."""
    try:
        event = json.loads(line)
    except ValueError as error:
        raise Doubtful("a line is not JSON") from error
    if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
        raise Doubtful("a line is not an event")
    return event
