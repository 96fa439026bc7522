"""Real Celery workers for tests: processes on the test's own database and queues."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from config.run import launch
from tests.coverage_scope import unmeasured
from tests.patience import Patience

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60
STOP_SECONDS = 10


class Workers:
    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        *queues: str,
        concurrency: int = 4,
        environment: dict[str, str] | None = None,
        until: str = " ready.",
    ) -> subprocess.Popen[bytes]:
        """Start one worker for these queues and wait until it takes tasks."""
        log = self.logs / f"worker-{len(self.processes)}.log"
        arguments = ["worker", "-P", "threads", "-c", str(concurrency), "-Q", ",".join(queues), "-l", "INFO"]
        return self._run(arguments, log, until=until, environment=environment)

    def beat(self, *, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start Celery beat, as `make run` does."""
        arguments = ["beat", "-s", str(self.logs / "beat"), "-l", "INFO"]
        return self._run(arguments, self.logs / "beat.log", until="beat: Starting", environment=environment)

    def log(self, number: int = 0) -> str:
        return (self.logs / f"worker-{number}.log").read_text(errors="replace")

    def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _run(
        self, arguments: list[str], log: Path, *, until: str, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        ended_with_us = [sys.executable, "-IS", str(Path(launch.__file__))]
        command = [*ended_with_us, sys.executable, "-m", "celery", "-A", "config.celery", *arguments]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdout=out,
                stderr=out,
                env={**unmeasured(), "DATABASE_URL": database_url(), **(environment or {})},
            )
        self.processes.append(process)
        patience = Patience(START_SECONDS)
        while until not in log.read_text(errors="replace"):
            if process.poll() is not None or patience.ended():
                raise RuntimeError(f"celery did not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.05)
        return process


def database_url() -> str:
    """The URL of the running test's database, for processes that the test starts."""
    at = connection.settings_dict
    user = quote(at["USER"]) + (f":{quote(at['PASSWORD'])}" if at["PASSWORD"] else "")
    return f"postgresql://{user}@/{at['NAME']}?host={quote(at['HOST'], safe='')}" + (
        f"&port={at['PORT']}" if at["PORT"] else ""
    )
