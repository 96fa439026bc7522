"""Starts the measured programs as `make run` does, and reads the CPU that they use."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.stores import POSTGRES_PID, REDIS_PID
from config import redis
from config.run import launch, programs

START_SECONDS = 60
STOP_SECONDS = 15
WORKER_THREADS = 10
CALM, CALM_SECONDS, LOOK_SECONDS = 0.15, 180.0, 5.0  # a share of a core


@dataclass(frozen=True)
class Program:
    pid: int
    port: int = 0

    def cpu_seconds(self) -> float:
        """CPU seconds of the process and its children, including children that have ended."""
        return _tree_seconds(self.pid)


@contextmanager
def web(settings: str = "config.settings", **environment: str) -> Iterator[Program]:
    """The web program: config/run/web.py with granian unchanged, under the named settings."""
    port = _free_port()
    own = {"PORT": str(port), "ROUTER_PORT": str(_free_port()), "DJANGO_SETTINGS_MODULE": settings, **environment}
    with started("config.run.web", environment=own) as process:
        wait_until(lambda: _answers(port), process)
        yield Program(process.pid, port)


@contextmanager
def worker(queues: str, *arguments: str, **environment: str) -> Iterator[Program]:
    """A Celery worker, started as config/run/programs.py starts the worker for agents."""
    options = ["-P", "threads", "-c", str(WORKER_THREADS), "-Q", queues, "-n", f"{queues}@bench", "-l", "WARNING"]
    own = {"DATABASE_POOL_SIZE": str(programs.WORKER_POOL_SIZE), **environment}
    before = listeners()
    with started("celery", "-q", "-A", "config.celery", "worker", *options, *arguments, environment=own) as process:
        wait_until(lambda: listeners() > before, process)
        yield Program(process.pid)


@contextmanager
def beat(**environment: str) -> Iterator[Program]:
    schedule = str(Path(os.environ["AGENTPODS_HOME"], "beat-schedule"))
    arguments = ["-q", "-A", "config.celery", "beat", "-s", schedule, "--pidfile="]
    with started("celery", *arguments, environment=environment) as process:
        yield Program(process.pid)


@contextmanager
def started(module: str, *arguments: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of our modules as a program that ends with this process."""
    command = [sys.executable, "-m", module, *arguments]
    with launched(command, name=module, environment=environment) as process:
        yield process


@contextmanager
def launched(
    command: list[str], *, name: str, environment: dict[str, str], directory: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that ends with this process. Its output is shown if the block fails."""
    log = Path(os.environ["AGENTPODS_HOME"], f"{name}-{time.time_ns()}.log")
    program = [sys.executable, "-IS", str(Path(launch.__file__)), *command]
    with log.open("wb") as out:
        process = subprocess.Popen(program, stdout=out, stderr=out, env={**os.environ, **environment}, cwd=directory)
    try:
        yield process
    except BaseException:
        sys.stderr.write(log.read_text(errors="replace"))
        raise
    finally:
        ended(process)


def ended(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, and insist after a while."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def postgres() -> Program:
    return Program(int(os.environ[POSTGRES_PID]))


def store_of_tasks() -> Program:
    """Redis."""
    return Program(int(os.environ[REDIS_PID]))


def wait_until_calm(programs: Sequence[Program]) -> None:
    """Wait until what programs do only once has ended."""
    deadline = time.monotonic() + CALM_SECONDS
    used = LOOK_SECONDS
    while used > CALM * LOOK_SECONDS:
        if time.monotonic() > deadline:
            raise RuntimeError("the programs do not come to rest")
        before = sum(program.cpu_seconds() for program in programs)
        time.sleep(LOOK_SECONDS)
        used = sum(program.cpu_seconds() for program in programs) - before


def _tree_seconds(pid: int) -> float:
    root = psutil.Process(pid)
    return sum(cpu_of(process) for process in [root, *root.children(recursive=True)])


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds of the process, and of its children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listeners() -> int:
    """The number of workers that wait for tasks."""
    return sum(entry["cmd"] == "brpop" for entry in redis.client().client_list())


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} does not start")
        time.sleep(0.05)
