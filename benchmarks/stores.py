"""PostgreSQL and Redis for benchmarks: the embedded ones of `make run` with its settings, in a separate home."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis as redis_client

from benchmarks.statements import STORES_LOG
from config.run import postgres, programs, redis

START_SECONDS = 60
TEMPLATE = "agentpods"
POSTGRES_PID = "BENCHMARK_POSTGRES_PID"
REDIS_PID = "BENCHMARK_REDIS_PID"


@dataclass(frozen=True)
class BenchmarkStores:
    root: Path
    postgres_pid: int
    redis_pid: int

    def environment(self, database: str) -> dict[str, str]:
        """The environment of every process of a benchmark."""
        return {
            **os.environ,
            "AGENTPODS_ENV": "development",
            "AGENTPODS_HOME": str(self.root / "home"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": f"postgresql://postgres@/{database}?host={self.root / 'postgres'}",
            "REDIS_URL": f"redis+socket://{self.root / 'redis.sock'}",
            "LOG_LEVEL": "ERROR",
            POSTGRES_PID: str(self.postgres_pid),
            REDIS_PID: str(self.redis_pid),
            STORES_LOG: str(self.root / "stores.log"),
        }

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A fresh copy of the prepared database."""
        self.admin(f'drop database if exists "{name}" with (force)')
        self.admin(f'create database "{name}" template "{TEMPLATE}"')
        yield name
        self.admin(f'drop database "{name}" with (force)')

    def prepare(self) -> None:
        """Migrate and load the catalog, as `make run` does, into the database that is copied for each benchmark."""
        self.admin(f'create database "{TEMPLATE}"')
        command = [sys.executable, "-m", "config.run.prepare"]
        subprocess.run(command, env=self.environment(TEMPLATE), check=True, stderr=subprocess.DEVNULL)

    def admin(self, statement: str) -> None:
        with psycopg.connect(
            host=str(self.root / "postgres"), user="postgres", dbname="postgres", autocommit=True
        ) as c:
            c.execute(statement.encode())


@contextmanager
def running() -> Iterator[BenchmarkStores]:
    """Both stores. They start here and end with this block, even after an error."""
    root = Path(tempfile.mkdtemp(prefix="agentpods-bench-"))
    root.chmod(0o711)  # when root runs the benchmarks, PostgreSQL's user must pass through
    (root / "home").mkdir()
    data, socket = root / "postgres", root / "redis.sock"
    postgres.initialise(data)
    commands = [
        postgres.command(data, sockets=data, max_connections=programs.MAX_CONNECTIONS),
        redis.command(socket),
    ]
    with (root / "stores.log").open("ab") as log:
        processes = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
    try:
        _wait(lambda: psycopg.connect(host=str(data), user="postgres", dbname="postgres").close())
        _wait(lambda: redis_client.Redis(unix_socket_path=str(socket)).ping())
        yield BenchmarkStores(root, *(process.pid for process in processes))
    finally:
        _end(processes)
        shutil.rmtree(root, ignore_errors=True)


def _wait(ask: Callable[[], object]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            ask()
        except (psycopg.OperationalError, redis_client.RedisError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.send_signal(signal.SIGINT)  # on SIGINT, PostgreSQL does not wait for its clients
    for process in processes:
        process.wait(30)
