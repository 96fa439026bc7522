"""The whole service as `make run` starts it, in a home of its own: all programs, from the supervisor down."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.second_start import free_port, wait_for

START_SECONDS = 300.0
STOP_SECONDS = 60.0


@dataclass(frozen=True)
class WholeService:
    pid: int  # the supervisor's
    port: int
    home: Path


@contextmanager
def running(home: Path, **more: str) -> Iterator[WholeService]:
    """Run the service until the block ends. `more` are further settings."""
    port = free_port()
    places = {"AGENTPODS_HOME": str(home), "PORT": str(port), "ROUTER_PORT": str(free_port())}
    with (home.parent / f"{home.name}-service.log").open("wb") as out:
        command = [sys.executable, "-m", "config.run"]
        process = subprocess.Popen(command, env={**os.environ, **places, **more}, stdout=out, stderr=out)
    try:
        wait_for(f"http://127.0.0.1:{port}/health/ready", until=time.monotonic() + START_SECONDS)
        yield WholeService(process.pid, port, home)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
