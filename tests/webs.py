"""Real web processes on the test's own database."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import requests

from tests.coverage_scope import unmeasured
from tests.patience import Patience
from tests.ports import free_port
from tests.workers import ROOT, database_url

START_SECONDS = 60


class Web:
    """One server process: `web.get("/tiers")`. `arguments` go to its command line."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.run.web", "--port", str(self.port), *arguments],
                cwd=ROOT,
                stdout=out,
                stderr=out,
                env={**unmeasured(), "DATABASE_URL": database_url()},
            )

    def wait(self) -> None:
        patience = Patience(START_SECONDS)
        while True:
            try:
                requests.get(f"{self.url}/tiers", timeout=5)
            except (requests.ConnectionError, requests.Timeout):  # the machine may be busy
                if self.process.poll() is not None or patience.ended():
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
