"""Keeps a page for a few seconds, because many people look at the status at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pages.public.printing import Printed

FRESH_SECONDS = 3.0

_kept: dict[str, tuple[float, Printed]] = {}  # one page and one feed per language, no more
_making = threading.Lock()


def shortly(name: str, make: Callable[[], Printed]) -> Printed:
    """The page `name`, made by one thread and at most every FRESH_SECONDS."""
    with _making:
        at, made = _kept.get(name, (float("-inf"), None))
        if made is None or time.monotonic() - at >= FRESH_SECONDS:
            made = make()
            _kept[name] = time.monotonic(), made
        return made


def forget() -> None:
    _kept.clear()
