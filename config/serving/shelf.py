"""Large answers that many clients get lie in files, which the server sends in parts, as fast as each client reads.

An answer that is sent from memory stays there, copied for each connection, until its client has read it. Clients that
read nothing could fill the memory with one list of the catalog. A file costs the same for one client and for thousands.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import OrderedDict
from pathlib import Path
from weakref import finalize

# An answer from here on is large (bytes).
LARGE_BYTES = 65_536
MOST_ANSWERS = 64


class Shelf:
    """The files of one process. What is made for each request anew is never shared, so it gets none."""

    def __init__(self) -> None:
        self._home: Path | None = None
        # By the identity of the bytes, which are kept, so that no other bytes can have it.
        self._known: OrderedDict[int, tuple[bytes, Path | None]] = OrderedDict()
        self._made = 0

    def file_of(self, body: bytes) -> Path | None:
        """The file that holds the answer; None for a small one, and the first time that these bytes are sent."""
        if len(body) < LARGE_BYTES:
            return None
        seen = self._known.get(id(body))
        if seen is None:
            self._known[id(body)] = (body, None)
            self._drop_oldest()
            return None
        if seen[1] is None:
            seen = self._known[id(body)] = (body, self._write(body))
        self._known.move_to_end(id(body))
        return seen[1]

    def _write(self, body: bytes) -> Path:
        if self._home is None:  # not before: a process that is killed would leave an empty directory each time
            self._home = Path(tempfile.mkdtemp(prefix="agentpods-web-"))
            finalize(self, shutil.rmtree, self._home, ignore_errors=True)
        self._made += 1
        path = self._home / str(self._made)  # never used again: a late reader finds no other answer in its place
        path.write_bytes(body)
        return path

    def _drop_oldest(self) -> None:
        if len(self._known) > MOST_ANSWERS:
            _, (_, path) = self._known.popitem(last=False)
            if path:
                path.unlink(missing_ok=True)
