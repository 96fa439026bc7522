"""Pages as bytes, plain and compressed. A page is made once per version of the catalog, when somebody first asks for
it.

The number and size of the kept pages are limited. The page that was unused for the longest time is dropped first.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from catalog import snapshot

KEPT = 512
LARGEST_KEPT = 128 * 1024
COMPRESSION = 5
ETAG_DIGITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A page as bytes. The compressed body is another representation, so it has another strong ETag."""

    body: bytes
    compressed: bytes
    tag: str

    @property
    def etags(self) -> tuple[str, str]:
        return f'"{self.tag}"', f'"{self.tag}-gzip"'


def printed(text: str | bytes) -> Printed:
    body = text.encode() if isinstance(text, str) else text
    tag = hashlib.sha256(body).hexdigest()[:ETAG_DIGITS]
    return Printed(body=body, compressed=gzip.compress(body, COMPRESSION, mtime=0), tag=tag)


class PageCache:
    """Keeps the pages of the current version of the catalog."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: snapshot.Snapshot | None = None
        self._kept: OrderedDict[str, Printed] = OrderedDict()

    def get(self, name: str, make: Callable[[], str]) -> Printed:
        """The page `name`. It is made if this version of the catalog does not have it yet."""
        now = snapshot.current()
        if found := self._known(name, now):
            return found
        made = printed(make())
        if len(made.body) <= LARGEST_KEPT:
            self._keep(name, made, now)
        return made

    def _known(self, name: str, now: snapshot.Snapshot) -> Printed | None:
        with self._lock:
            if self._of is not now:
                self._of = now
                self._kept.clear()
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def _keep(self, name: str, made: Printed, of: snapshot.Snapshot) -> None:
        with self._lock:
            if self._of is of:
                self._kept[name] = made
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)


press = PageCache()
