"""The client of a request, so that work for it can end when the client has hung up. Imports nothing of Django."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Caller:
    """The client of one request of this process."""

    def __init__(self, *, on_wait: Callable[[], None]) -> None:
        """`on_wait` is called once, when the request first waits for another service."""
        self._on_wait: Callable[[], None] | None = on_wait
        self._lock = threading.Lock()
        self._has_left = False
        self._endings: list[Callable[[], None]] = []

    def step_aside(self) -> None:
        on_wait, self._on_wait = self._on_wait, None
        if on_wait:
            on_wait()

    def leave(self) -> None:
        """The client hung up: end the work for it. Called from another thread."""
        with self._lock:
            self._has_left = True
            endings, self._endings = self._endings, []
        for end in endings:
            end()

    @property
    def has_left(self) -> bool:
        return self._has_left

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """Call `end` if the client leaves inside this block; call it at once if the client has left already."""
        with self._lock:
            if not self._has_left:
                self._endings.append(end)
        if self._has_left:
            end()
        try:
            yield
        finally:
            with self._lock:
                if end in self._endings:
                    self._endings.remove(end)


# The client of the request that this thread works on. None in workers and commands, where no client waits.
caller: ContextVar[Caller | None] = ContextVar("caller", default=None)
