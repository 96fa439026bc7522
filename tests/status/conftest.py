"""A fresh status for each test, and real web processes whose database servers are down or hang."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from pages.public.status import keeping
from status import components
from tests.coverage_scope import unmeasured
from tests.patience import Patience

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60

Web = Callable[[dict[str, str]], str]


@pytest.fixture(autouse=True)
def fresh_status() -> None:
    """Forget the status that an earlier test saw."""
    fresh_look()


def fresh_look() -> None:
    for _, check in components.DEPENDENCIES.values():
        check._run = None
    components._last_records = None
    keeping.forget()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that accepts connections and sends nothing, like a hung PostgreSQL or Redis."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """Starts a real web process with changed settings and returns its address."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(changes: dict[str, str]) -> str:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        command = [sys.executable, "-m", "config.run.web", "--port", str(port)]
        with (tmp_path / "web.log").open("wb") as log:
            processes.append(
                subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, env={**unmeasured(), **changes})
            )
        return _when_up(f"http://127.0.0.1:{port}", tmp_path / "web.log")

    yield start
    for process in processes:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _when_up(base: str, log: Path) -> str:
    patience = Patience(START_SECONDS)
    while not patience.ended():
        try:
            requests.get(f"{base}/health", timeout=5).raise_for_status()
        except requests.ConnectionError:
            time.sleep(0.1)
        else:
            return base
    raise RuntimeError(f"the web process did not start:\n{log.read_text(errors='replace')}")
