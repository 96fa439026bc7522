"""Real web processes on the test's own database."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import requests

from tests.measured import unmeasured
from tests.workers import ROOT, database_url

START_SECONDS = 60


class Web:
    """One server process: `web.get("/tiers")`."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--blocking-threads", "4", "--no-ws"]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [*command, "--port", str(port), "config.wsgi:application"],
                cwd=ROOT,
                stdout=out,
                stderr=out,
                env={**unmeasured(), "DATABASE_URL": database_url()},
            )

    def wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                requests.get(f"{self.url}/tiers", timeout=5)
            except (requests.ConnectionError, requests.Timeout):  # the machine may be busy
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no web process:\n{self.log.read_text(errors='replace')}") from None
                time.sleep(0.05)
            else:
                return

    def get(self, path: str, **headers: str) -> requests.Response:
        return requests.get(f"{self.url}{path}", headers=headers, timeout=10)

    def send(self, method: str, path: str, body: object = None, *, token: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return requests.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=10)

    def head(self, path: str) -> requests.Response:
        return requests.head(f"{self.url}{path}", timeout=10)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
