"""Programs that tests kill in the middle of their work. One of them is the endpoint for backups."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest


class Child:
    """A process. A test gives it its input, watches it, and kills it together with its children."""

    def __init__(self, command: list[str], given: str, environment: dict[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        assert self.process.stdin
        self.process.stdin.write(given)
        self.process.stdin.close()

    def kill_when(self, seen: Callable[[], bool], *, within: float = 120) -> None:
        until = time.monotonic() + within
        while not seen():
            assert self.process.poll() is None, "it was over before it could be killed"
            assert time.monotonic() < until
            time.sleep(0.01)
        self.end()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def said(self) -> str:
        assert self.process.stdout
        out = self.process.stdout.read()
        assert self.process.wait(300) == 0
        self.end()
        return out


# The endpoint's URL, and a function that starts the endpoint again there.
Started = tuple[str, Callable[[], Child]]


def bytes_in(place: Path) -> int:
    """The size in bytes of all files below `place`, which another process may change at the same time."""
    total = 0
    for directory, _, names in os.walk(place):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(directory) / name).stat().st_size
    return total


@pytest.fixture
def store(settings: Any, tmp_path: Path) -> Path:
    settings.BACKUP_STORE = str(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def endpoint(store: Path) -> Iterator[Started]:
    """The endpoint as a process of its own. After a restart it has the same port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    children: list[Child] = []
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "BACKUP_STORE": str(store), "BACKUP_PORT": str(port), "BACKUP_URL": url}

    def start() -> Child:
        children.append(Child([sys.executable, "-m", "agents.backups.endpoint"], "", environment))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    return children[-1]
            time.sleep(0.1)
        raise AssertionError("it does not listen")

    yield url, start
    for child in children:
        child.end()
