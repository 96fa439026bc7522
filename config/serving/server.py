"""The granian server, with a pause before its end in which clients move to other processes.

A load balancer learns a moment too late that a process ends. A client may also send its next request at the moment when
its idle connection is closed. So after SIGTERM the process goes on answering for some seconds, reports that it is not
ready, and closes each connection after an answer. Only then it refuses new requests and ends the running ones.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from typing import Any

from granian import Granian

DRAIN = signal.SIGUSR1


class WebServer(Granian):  # type: ignore[misc,valid-type]  # granian chooses this class at run time
    def __init__(self, *given: Any, drain_seconds: float, **more: Any) -> None:
        """As in Granian. `drain_seconds` may be 0."""
        super().__init__(*given, **more)
        self._drain_seconds = drain_seconds
        self._is_ending = False
        signal.signal(DRAIN, signal.SIG_IGN)  # for children that are just starting: the signal would kill them

    def signal_handler_interrupt(self, *given: Any, **more: Any) -> None:
        """SIGTERM or SIGINT. The second signal ends the server without waiting."""
        if self._is_ending or not self._drain_seconds:
            super().signal_handler_interrupt(*given, **more)
            return
        self._is_ending = True
        for answering in multiprocessing.active_children():
            os.kill(answering.pid or 0, DRAIN)
        later = threading.Timer(self._drain_seconds, super().signal_handler_interrupt)
        later.daemon = True
        later.start()
