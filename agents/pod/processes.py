"""Finds and ends a pod's processes. A stored pid is never trusted: a process is recognised by its marks.
Our two programs have namespace and home in their arguments, because the gateway's environment is closed to other
processes. The engine and all processes that it starts have them in their environment, so that no process of a pod is
lost.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import psutil

NAMESPACE = "AGENTPODS_NAMESPACE"
HOME = "AGENTPODS_HOME"
ROLE = "AGENTPODS_ROLE"
ENGINE = "engine"
INSTALL = "install"

POLL_SECONDS = 0.05


def marks(namespace: str, home: Path | str, role: str) -> dict[str, str]:
    """The environment variables that mark a process as one of this pod."""
    return {NAMESPACE: namespace, HOME: str(home), ROLE: role}


def program_arguments(namespace: str, home: Path | str) -> list[str]:
    """The arguments that mark one of our programs as one of this pod. The programs themselves ignore them."""
    return [f"--namespace={namespace}", f"--home={home}"]


def environment_of(pid: int) -> Mapping[str, str]:
    """The environment with which a process was started. Empty if it is gone, is a zombie, or may not be read."""
    pairs = (entry.partition(b"=") for entry in read(pid, "environ").split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def read(pid: int | str, name: str) -> bytes:
    """The file /proc/`pid`/`name`. Empty if the process is gone, is a zombie, or may not be read."""
    try:
        # One search reads this file of every process of the machine. A Path takes five times as long.
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
            return file.readall()
    except OSError:
        return b""


def having(name: str, text: str) -> Iterator[psutil.Process]:
    """The processes of the machine whose file /proc/<pid>/`name` has this text.

    The caller reads the file again: the pid may belong to another process since.
    """
    wanted = os.fsencode(text)
    for pid in psutil.pids():
        if wanted in read(pid, name):
            with contextlib.suppress(psutil.NoSuchProcess):
                yield psutil.Process(pid)


def marked(namespace: str, home: Path | str, *, roles: Iterable[str] = (ENGINE, INSTALL)) -> list[psutil.Process]:
    """The live processes of this pod with one of these roles in their environment."""
    wanted = [marks(namespace, home, role).items() for role in roles]
    found = []
    for process in having("environ", f"{NAMESPACE}={namespace}"):
        environment = environment_of(process.pid).items()
        if any(mark <= environment for mark in wanted) and is_alive(process):
            found.append(process)
    return found


def is_alive(process: psutil.Process) -> bool:
    """Whether exactly this process runs. A zombie does not count, and a new process with the same pid does not count
    either.
    """
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [child for child in process.children(recursive=True) if is_alive(child)]
    except psutil.NoSuchProcess:
        return []


def listen(processes: Iterable[psutil.Process], port: int) -> bool:
    """Whether one of these processes listens on this TCP port, at any address."""
    return any(port in _listened(process) for process in processes)


def _listened(process: psutil.Process) -> set[int]:
    try:
        connections = process.net_connections("tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return set()
    return {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}


def send(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def kill_all(find: Callable[[], list[psutil.Process]], *, seconds: float) -> list[psutil.Process]:
    """Send SIGKILL again and again until no process is found, so that new children are found too. Returns the processes
    that are left after `seconds`.
    """
    until = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < until:
        send(found, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    return found
