"""An encoded object with some of its fields only. The place of each field in the bytes is found once, so that choosing
fields costs neither reading nor writing JSON.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection
from typing import Any

import orjson

_known: dict[tuple[str, ...], tuple[str, ...]] = {}  # most objects have the same names: they share one tuple


class FieldPlaces:
    """Where the fields of one encoded object are."""

    __slots__ = ("_ends", "_names")

    def __init__(self, plain: bytes, *, encode: Callable[[Any], bytes]) -> None:
        """`encode` is what has made `plain`. It may escape more than the quicker encoder that is tried first."""
        content: dict[str, Any] = orjson.loads(plain)
        fields = [orjson.dumps({name: value})[1:-1] for name, value in content.items()]
        if b"{%b}" % b",".join(fields) != plain:
            fields = [encode({name: value})[1:-1] for name, value in content.items()]
        names = tuple(content)
        self._names = _known.setdefault(names, names)
        self._ends = array("L")
        end = 0
        for field in fields:
            end += 1 + len(field)  # a brace or a comma is before each field
            self._ends.append(end)

    def only(self, plain: bytes, names: Collection[str]) -> bytes:
        """The same object with these fields, in their own order."""
        begin, chosen = 0, []
        for name, end in zip(self._names, self._ends, strict=True):
            if name in names:
                chosen.append(plain[begin + 1 : end])
            begin = end
        return b"{%b}" % b",".join(chosen)
