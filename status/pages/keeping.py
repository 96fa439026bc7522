"""What was printed a moment ago, for the many who look at the status at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from catalog.pages.printing import Printed

FRESH_SECONDS = 3.0

_kept: dict[str, tuple[float, Printed]] = {}  # a page and a feed in each language: no more
_making = threading.Lock()


def shortly(name: str, make: Callable[[], Printed]) -> Printed:
    """The page `name`, made by one thread and at most each FRESH_SECONDS."""
    with _making:
        at, made = _kept.get(name, (float("-inf"), None))
        if made is None or time.monotonic() - at >= FRESH_SECONDS:
            made = make()
            _kept[name] = time.monotonic(), made
        return made


def forget() -> None:
    _kept.clear()
