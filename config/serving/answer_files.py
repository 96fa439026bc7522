"""Keeps large answers in files. The server sends a file in parts, as fast as each client reads.

An answer in memory stays there, copied for each connection, until its client has read it. Clients that read nothing
could fill the memory with one list of the catalog. A file costs the same for one client and for thousands.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import OrderedDict
from pathlib import Path
from weakref import finalize

# From this size on an answer is large (bytes).
LARGE_BYTES = 65_536
MOST_ANSWERS = 64


class AnswerFiles:
    """The files of one process. An answer made for a single request is sent only once, so it gets no file."""

    def __init__(self) -> None:
        self._home: Path | None = None
        # The key is the identity of the bytes. The bytes are kept, so that no other object can get the same identity.
        self._known: OrderedDict[int, tuple[bytes, Path | None]] = OrderedDict()
        self._made = 0

    def file_of(self, body: bytes) -> Path | None:
        """The file with the answer. None for a small answer, and the first time that these bytes are sent."""
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
        if self._home is None:  # made only when needed: a killed process would leave an empty directory each time
            self._home = Path(tempfile.mkdtemp(prefix="agentpods-web-"))
            finalize(self, shutil.rmtree, self._home, ignore_errors=True)
        self._made += 1
        path = self._home / str(self._made)  # no name is used twice: a late reader must not get another answer
        path.write_bytes(body)
        return path

    def _drop_oldest(self) -> None:
        if len(self._known) > MOST_ANSWERS:
            _, (_, path) = self._known.popitem(last=False)
            if path:
                path.unlink(missing_ok=True)
