"""Processes of their own that tell our webhook what a test says: `Replay`. Each may kill itself at some statement.

`python -m tests.billing.stars.replay` is what it runs: a line of JSON in, the exit codes of the processes out.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Self

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]


class Replay:
    """Forks from one process that has everything loaded and no connection open."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.billing.stars.replay"],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, updates: list[Json], *, processes: int = 1, times: int = 1, die_at: int = 0) -> list[int]:
        """Exit codes: 0 when all was answered with 200, -9 for who was killed."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("started without pipes")
        job = {"updates": updates, "processes": processes, "times": times, "die_at": die_at}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        codes: list[int] = json.loads(self._process.stdout.readline())
        return codes


def main() -> None:
    import django  # before anything of ours can be imported

    django.setup()
    import_module("config.urls")  # once, instead of in each fork
    import_module("tests.billing.stars.conftest")
    for line in sys.stdin:
        job = json.loads(line)
        pids = [_forked(job, number) for number in range(job["processes"])]
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        sys.stdout.write(json.dumps(codes) + "\n")
        sys.stdout.flush()


def _forked(job: Json, seed: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = _tell(job, seed)
    finally:
        os._exit(code)


def _tell(job: Json, seed: int) -> int:
    from django.conf import settings
    from django.db import connection

    from tests.billing.stars.conftest import deliver

    left = job["die_at"]

    def count(execute: Any, *arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(*arguments)

    updates = job["updates"] * job["times"]
    random.Random(seed).shuffle(updates)
    with connection.execute_wrapper(count):
        told = {deliver("http://us/payments/stars/callback", one, settings.STARS_WEBHOOK_SECRET) for one in updates}
    return 0 if told == {200} else 1


if __name__ == "__main__":
    main()
