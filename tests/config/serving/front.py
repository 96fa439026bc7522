"""The web server as a process of its own, and its connections."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import requests

from tests.coverage_scope import unmeasured
from tests.patience import Patience
from tests.workers import ROOT

START_SECONDS = 60


class FrontProcess:
    """The web server as a separate process."""

    def __init__(self, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self.log = log
        served = "tests.config.serving.application:served"
        command = [sys.executable, "-m", "granian", "--interface", "rsgi", "--factory", "--http", "1", "--no-ws"]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [*command, "--backpressure", "4096", "--http1-buffer-size", "32768", "--port", str(self.port), served],
                cwd=ROOT,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**unmeasured(), "PYTHONPATH": str(ROOT)},
            )

    def wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self.get("/health")
            except requests.ConnectionError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"no front:\n{self.log.read_text(errors='replace')}") from None
                time.sleep(0.05)
            else:
                return

    def get(self, path: str, **more: Any) -> requests.Response:
        return requests.get(f"http://127.0.0.1:{self.port}{path}", timeout=30, **more)

    def post(self, path: str, body: Any, **headers: str) -> requests.Response:
        return requests.post(f"http://127.0.0.1:{self.port}{path}", data=body, headers=headers, timeout=30)

    def worker(self) -> psutil.Process:
        """The process that answers requests."""
        (worker,) = psutil.Process(self.process.pid).children()
        return worker

    def memory(self) -> int:
        """The memory of that process, in bytes."""
        return int(self.worker().memory_info().rss)

    def dial(self, raw: bytes, *, buffer: int | None = None) -> socket.socket:
        """A connection on which these bytes were sent; it accepts `buffer` bytes without reading."""
        connection = socket.socket()
        if buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(raw)
        return connection


def is_ended(connection: socket.socket, *, pause: float) -> bool:
    """Whether the server closes a connection on which a byte is sent every `pause` seconds and nothing is read."""
    patience = Patience(15)
    while not patience.ended():
        time.sleep(pause)
        try:
            connection.sendall(b" ")
        except ConnectionError:
            return True
    return False
