"""The server itself: granian, which lets its clients go before it goes.

A balancer learns a moment too late that a process ends, and a client may send its next request in the moment in which
its idle connection is closed. So after SIGTERM the process goes on answering for some seconds, closes each connection
with an answer on it, and is not ready. Only then it takes no more, and ends what runs.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from typing import Any

from granian import Granian

DRAIN = signal.SIGUSR1


class Server(Granian):  # type: ignore[misc,valid-type] # granian says which class it is at run time
    def __init__(self, *given: Any, drain_seconds: float, **more: Any) -> None:
        """As Granian; `drain_seconds` may be 0."""
        super().__init__(*given, **more)
        self._drain_seconds = drain_seconds
        self._is_ending = False
        signal.signal(DRAIN, signal.SIG_IGN)  # for children that are about to start: unheeded, it would end them

    def signal_handler_interrupt(self, *given: Any, **more: Any) -> None:
        """SIGTERM or SIGINT. The second one ends it without waiting."""
        if self._is_ending or not self._drain_seconds:
            super().signal_handler_interrupt(*given, **more)
            return
        self._is_ending = True
        for answering in multiprocessing.active_children():
            os.kill(answering.pid or 0, DRAIN)
        later = threading.Timer(self._drain_seconds, super().signal_handler_interrupt)
        later.daemon = True
        later.start()
