"""Starts a service with its own data for one demo, and stops it. It uses only documented environment variables."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

START_SECONDS = 600  # the first start of a checkout creates its Python environment
STOP_SECONDS = 30
NOT_INHERITED = ("BASE_URL", "DATABASE_URL", "REDIS_URL", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
MONEY = ("GUMROAD_", "LEMONSQUEEZY_", "CRYPTO_", "STARS_")  # the demo does not use the settings of a real seller


@contextmanager
def own_service(command: str, *, settings: dict[str, str]) -> Iterator[str]:
    """Run `command` with these settings; yields its address."""
    with tempfile.TemporaryDirectory(prefix="agentpods-demo-", ignore_cleanup_errors=True) as home:
        Path(home).chmod(0o711)  # the embedded database may run as another user
        port, router_port = _free_ports(2)
        base = f"http://127.0.0.1:{port}"
        places = {"PORT": str(port), "ROUTER_PORT": str(router_port), "AGENTPODS_HOME": f"{home}/var"}
        environment = _inherited() | settings | places
        log = Path(home) / "service.log"
        print(f"Starting a service for this demo at {base}: {command}", flush=True)
        with log.open("wb") as out:
            process = subprocess.Popen(
                shlex.split(command), env=environment, stdout=out, stderr=out, start_new_session=True
            )
        try:
            _wait_until_ready(base, process, log)
            yield base
        finally:
            _end(process)


def _inherited() -> dict[str, str]:
    kept = (name for name in os.environ if name not in NOT_INHERITED and not name.startswith(MONEY))
    return {name: os.environ[name] for name in kept}


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _wait_until_ready(base: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if requests.get(f"{base}/health/ready", timeout=5).ok:
                return
        except requests.RequestException:
            pass  # the service does not listen yet
        time.sleep(0.2)
    raise TimeoutError("it did not start:\n" + log.read_text(errors="replace")[-4000:])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the whole process group as Ctrl-C does, and wait until the supervisor has stopped its programs."""
    _signal(process, signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], with_signal: signal.Signals) -> None:
    if process.poll() is None:
        os.killpg(process.pid, with_signal)
