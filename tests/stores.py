"""One embedded PostgreSQL and one embedded Redis for a whole test run, in their own directory. They end with pytest."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import redis as redis_client
from psycopg.sql import SQL, Identifier

from config.run import postgres, redis
from tests.patience import Patience

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "agentpods-test-"
TEMPLATE = "agentpods_template"
START_SECONDS = 30
MAX_CONNECTIONS = 400
REDIS_DATABASES = 64

# A test database may lose data in a power cut, so it need not wait for the disk.
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
# The catalog's long texts are written thousands of times, and compressing them is most of the cost.
UNPACKED = """
SELECT format('ALTER TABLE %I ALTER COLUMN %I SET STORAGE EXTERNAL', table_name, column_name)
FROM information_schema.columns
WHERE table_name IN ('catalog_persona', 'catalog_personal10n') AND data_type IN ('text', 'jsonb')
"""


class StoreServers:
    """The process that runs pytest starts the servers; xdist workers get the addresses from the environment."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.settings = THROWAWAY if settings is None else settings
        self.root = Path(tempfile.gettempdir(), f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}")
        self.data = self.root / "postgres"
        self.socket = self.root / "redis.sock"
        self.embedded: set[str] = set()  # the URLs (DATABASE_URL, REDIS_URL) that we serve ourselves
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def database_url(self) -> str:
        return f"postgresql://postgres@/agentpods?host={self.data}"

    @property
    def _server(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.data}"

    @property
    def redis_url(self) -> str:
        return f"redis+socket://{self.socket}?virtual_host=0"

    def start(self) -> None:
        _remove_what_dead_runs_left()
        self.root.mkdir(mode=0o711)  # the server's own user must pass through this directory when root runs the tests
        if "DATABASE_URL" in self.embedded:
            postgres.initialise(self.data, sync=False)
            self.start_database()
        if "REDIS_URL" in self.embedded:
            self.start_redis()

    def start_database(self) -> subprocess.Popen[bytes]:
        """Start PostgreSQL. A test that stopped the server can call this again."""
        command = postgres.command(
            self.data, sockets=self.data, max_connections=MAX_CONNECTIONS, settings=self.settings
        )
        return self._started(command, self._database_answers)

    def start_redis(self) -> subprocess.Popen[bytes]:
        return self._started(redis.command(self.socket, databases=REDIS_DATABASES), self._redis_answers)

    def create_database(self, name: str = "agentpods") -> None:
        """Create this database. A test run makes its own databases."""
        with psycopg.connect(self._server, autocommit=True) as server:
            server.execute(SQL("create database {}").format(Identifier(name)))

    def create_template(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Create and migrate one database, which all test processes copy. `meanwhile` runs beside that."""
        self.create_database(TEMPLATE)
        migrated = {**os.environ, "DATABASE_URL": self.database_url.replace("/agentpods?", f"/{TEMPLATE}?")}
        command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        with subprocess.Popen(command, cwd=ROOT, env=migrated) as migration:
            meanwhile()
        if migration.returncode:
            raise subprocess.CalledProcessError(migration.returncode, command)
        with psycopg.connect(self._server, dbname=TEMPLATE) as template:
            for statement in template.execute(UNPACKED).fetchall():
                template.execute(SQL(statement[0]))

    def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGINT)  # PostgreSQL then does not wait for its clients
        psutil.wait_procs([psutil.Process(p.pid) for p in self.processes if p.poll() is None], timeout=5)
        for process in self.processes:
            process.kill()
            process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def _started(self, command: list[str], answers: Callable[[], bool]) -> subprocess.Popen[bytes]:
        self.processes = [process for process in self.processes if process.poll() is None]
        with (self.root / "stores.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        self._wait(answers)
        return process

    def _database_answers(self) -> bool:
        try:
            psycopg.connect(self._server).close()
        except psycopg.OperationalError:
            return False
        return True

    def _redis_answers(self) -> bool:
        try:
            with redis_client.Redis(unix_socket_path=str(self.socket)) as client:
                return bool(client.ping())
        except redis_client.RedisError:
            return False

    def _wait(self, answers: Callable[[], bool]) -> None:
        patience = Patience(START_SECONDS)
        while not answers():
            if patience.ended() or any(p.poll() is not None for p in self.processes):
                log = (self.root / "stores.log").read_text(errors="replace")
                raise RuntimeError(f"the stores of the test run did not start:\n{log}")
            time.sleep(0.02)


def _remove_what_dead_runs_left() -> None:
    """Delete the directories of killed runs, which could not clean up. Their servers are already dead."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = directory.name.removeprefix(PREFIX).partition("-")[0]
        if not pid.isdigit() or psutil.pid_exists(int(pid)):
            continue
        with contextlib.suppress(FileNotFoundError):  # a run that has just ended removes its own directory
            if directory.stat().st_uid == os.geteuid():
                shutil.rmtree(directory, ignore_errors=True)


def environment(home: Path) -> dict[str, str]:
    """The environment of every process in a test run."""
    myself = psutil.Process()
    return {
        "AGENTPODS_ENV": "development",
        "AGENTPODS_HOME": str(home),
        "AGENTPODS_SUPERVISOR": f"{os.getpid()}:{myself.create_time()}",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
