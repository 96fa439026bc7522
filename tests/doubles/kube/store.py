"""The roles of etcd and the watch cache: objects by kind, one common version counter, and a log of every change.

Objects are never changed in place, so lists, snapshots and the log can share them.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.doubles.kube.resources import Object

Kinds = dict[str, dict[str, dict[str, Object]]]  # kind, namespace, name


@dataclass(slots=True)
class Change:
    type: str  # ADDED, MODIFIED or DELETED
    kind: str
    namespace: str
    name: str
    object: Object
    old: Object | None
    _line: bytes = field(default=b"", repr=False)

    def line(self, type: str) -> bytes:
        """The change as a line of a watch. Its `type` may differ, because it depends on the watch's selector."""
        self._line = self._line or json.dumps(self.object).encode()
        return b'{"type":"%s","object":%s}\n' % (type.encode(), self._line)


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    kinds: Kinds
    version: int


class Store:
    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.log: list[Change] = []  # the change that made version n is log[n - 1]
        self.oldest = 0  # watches from before this version get 410
        self._kinds: Kinds = defaultdict(dict)

    @property
    def version(self) -> int:
        return len(self.log)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        return self._kinds[kind].get(namespace, {}).get(name)

    def all(self, kind: str, namespace: str = "") -> list[Object]:
        """The objects of this kind in one namespace, or in all namespaces."""
        with self.changed:
            return list(objects(self._kinds, kind, namespace))

    def snapshot(self) -> StoreSnapshot:
        with self.changed:
            kinds = {
                kind: {namespace: dict(named) for namespace, named in spaces.items()}
                for kind, spaces in self._kinds.items()
            }
            return StoreSnapshot(kinds, self.version)

    def put(self, kind: str, obj: Object) -> Object:
        """Store the object, and return it with its new version."""
        with self.changed:
            namespace, name = place(obj)
            old = self.get(kind, namespace, name)
            kept = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version + 1)}}
            self._kinds[kind].setdefault(namespace, {})[name] = kept
            self._record(Change("MODIFIED" if old else "ADDED", kind, namespace, name, kept, old))
            return kept

    def remove(self, kind: str, obj: Object) -> Object:
        with self.changed:
            namespace, name = place(obj)
            old = self._kinds[kind][namespace].pop(name)
            if not self._kinds[kind][namespace]:
                del self._kinds[kind][namespace]
            last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version + 1)}}
            self._record(Change("DELETED", kind, namespace, name, last, old))
            return last

    def compact(self) -> None:
        with self.changed:
            self.oldest = self.version

    def _record(self, change: Change) -> None:
        self.log.append(change)
        self.changed.notify_all()


def place(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def objects(kinds: Kinds, kind: str, namespace: str = "") -> Iterator[Object]:
    """The objects in the order of their keys, as in etcd."""
    spaces = kinds.get(kind, {})
    for space in [namespace] if namespace else sorted(spaces):
        named = spaces.get(space, {})
        for name in sorted(named):
            yield named[name]
