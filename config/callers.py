"""Who a request is worked on for, so that work ends when the client has left. Imports nothing of Django."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Caller:
    """The client that one request of this process is worked on for."""

    def __init__(self, *, on_wait: Callable[[], None]) -> None:
        """`on_wait` is called once, when the request first waits for somebody else."""
        self._on_wait: Callable[[], None] | None = on_wait
        self._lock = threading.Lock()
        self._has_left = False
        self._endings: list[Callable[[], None]] = []

    def step_aside(self) -> None:
        on_wait, self._on_wait = self._on_wait, None
        if on_wait:
            on_wait()

    def leave(self) -> None:
        """The client hung up: what is done for it ends. Called from another thread."""
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
        """Call `end` if the client leaves inside of this; at once if it has left before."""
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


# Of the request that this thread works on. Outside of web, in workers and commands, nobody waits for an answer.
caller: ContextVar[Caller | None] = ContextVar("caller", default=None)
