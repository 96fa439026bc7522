"""How long `make run` takes with an existing home: `python -m benchmarks.second_start [runs]`.

Prints the seconds of each start until `/health` answers, also as a multiple of the time to import Django and Celery in
the same run: a slow machine makes both slow. Exits with 1 if the median is over four seconds.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError

LIMIT_SECONDS = 4.0
GIVE_UP_SECONDS = 120.0


def main(runs: int) -> int:
    with tempfile.TemporaryDirectory(prefix="agentpods-bench-") as home:
        print(f"first start  {started(home):6.2f} s")
        baseline = seconds_of([sys.executable, "-c", "import django.contrib.admin, celery.app, rest_framework"])
        times = [started(home) for _ in range(runs)]
    for seconds in times:
        print(f"second start {seconds:6.2f} s  {seconds / baseline:5.1f} x the imports ({baseline:.2f} s)")
    return int(statistics.median(times) > LIMIT_SECONDS)


def started(home: str) -> float:
    """Start the service, return the seconds until it answers, and end it."""
    port = free_port()
    environment = {**os.environ, "AGENTPODS_HOME": home, "PORT": str(port), "ROUTER_PORT": str(free_port())}
    begun = time.monotonic()
    with running([sys.executable, "-m", "config.run"], environment):
        wait_for(f"http://127.0.0.1:{port}/health", until=begun + GIVE_UP_SECONDS)
        return time.monotonic() - begun


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for(url: str, *, until: float) -> None:
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except (URLError, OSError):
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"{url} does not answer")


def seconds_of(command: list[str]) -> float:
    begun = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - begun


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
