"""Gateways in the process of the tests: the same listeners, on an event loop in a thread.

Most tests are about what a listener answers. A process for each of them would cost ten times their own work.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import subprocess
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from contextvars import ContextVar
from pathlib import Path

from agents.pod.gateway.listeners import serve
from agents.pod.gateway.logs import PodLogHandler
from agents.pod.gateway.pod import Pod
from agents.pod.masking import MaskingFormatter
from agents.pod.start import GatewayStart

# The gateway whose code runs. All its tasks inherit this, so each gateway's log has only its own lines.
_speaker: ContextVar[GatewayInProcess | None] = ContextVar("gateway", default=None)


class GatewayInProcess:
    """A gateway, with those methods of `subprocess.Popen` that need no process."""

    def __init__(self, document: bytes, log_path: Path) -> None:
        self._ended = asyncio.Event()
        self._loop = _loop()
        served = self._serve(Pod(GatewayStart.load(document)), log_path)
        self._served: Future[None] = asyncio.run_coroutine_threadsafe(served, self._loop)

    def poll(self) -> int | None:
        if not self._served.done():
            return None
        return 1 if self._served.exception() else 0

    def wait(self, timeout: float | None = None) -> int:
        try:
            self._served.result(timeout)
        except TooLate as error:
            raise subprocess.TimeoutExpired("gateway", timeout or 0) from error
        return 0

    def terminate(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)

    async def _serve(self, pod: Pod, log_path: Path) -> None:
        _speaker.set(self)
        output = logging.FileHandler(log_path)
        output.setFormatter(MaskingFormatter(pod.secret_texts))
        output.addFilter(self._is_mine)
        logging.getLogger().addHandler(output)
        try:
            serving = asyncio.ensure_future(serve(pod, self._ended.wait()))
            await asyncio.sleep(0)  # its first step adds the handler of the pod's log
            for handler in logging.getLogger().handlers:
                if isinstance(handler, PodLogHandler) and not handler.filters:
                    handler.addFilter(self._is_mine)
            await serving
        finally:
            logging.getLogger().removeHandler(output)
            output.close()

    def _is_mine(self, _: logging.LogRecord) -> bool:
        return _speaker.get() is self


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of all gateways of this process. It runs as long as the process."""
    logging.getLogger("agents.pod.gateway").setLevel(logging.INFO)  # as in a gateway's own process
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="gateways", daemon=True).start()
    return loop
