"""The directories of the local runtime, and its record of each pod: ports and the wanted state, but never a pid.
`pods/<namespace>/` is a pod's run directory. `data/<agent id>/` is the agent's own directory, which outlives pods.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from agents.cause import Cause
from agents.runtimes.base import RuntimeFailure

LOCK_SECONDS = 20.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class WantedState(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecord:
    """The content of a pod's `pod.json`. Tokens and password are valid only for this pod's own loopback ports."""

    agent_id: str
    wanted: WantedState
    asked_at: float  # since when `wanted` has this value (Unix seconds)
    ended: bool  # whether all processes of the pod were seen to be gone
    public_port: int
    management_port: int
    llm_port: int
    bridge_port: int
    bridge_token: str = field(repr=False)
    llm_token: str = field(repr=False)
    engine_port: int
    side_port: int
    engine_password: str = field(repr=False)

    @property
    def inner_ports(self) -> list[int]:
        return [self.management_port, self.llm_port, self.bridge_port, self.engine_port, self.side_port]


class Home:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.pods = root / "pods"
        self._data = root / "data"
        self._locks = root / "locks"

    def run_dir(self, namespace: str) -> Path:
        return self.pods / _checked(namespace)

    def data_dir(self, agent_id: str) -> Path:
        return self._data / _checked(agent_id)

    def port_file(self, agent_id: str) -> Path:
        """The file with the agent's public port. It is beside the data, so that the agent keeps its port when its pod
        is rebuilt.
        """
        return self._data / f"{_checked(agent_id)}.port"

    def port_files(self) -> list[Path]:
        return list(self._data.glob("*.port"))

    def forget_port(self, agent_id: str) -> None:
        path = self.port_file(agent_id)
        path.unlink(missing_ok=True)
        _half(path).unlink(missing_ok=True)

    def forget_locks(self) -> None:
        """Remove the lock files of removed pods. A worker that removes a pod may be killed before it
        removes the lock.
        """
        for name in (path.stem for path in self._locks.glob("pod-*.lock")):
            if not self.run_dir(name).exists():
                with suppress(RuntimeFailure), self.lock(name, wait=False) as path:
                    if not self.run_dir(name).exists():
                        path.unlink(missing_ok=True)

    def namespaces(self) -> list[str]:
        """Every pod that has a directory, even an incomplete one."""
        try:
            return [entry.name for entry in os.scandir(self.pods) if _NAME.fullmatch(entry.name)]
        except FileNotFoundError:
            return []

    def record(self, namespace: str) -> PodRecord | None:
        """The pod's record; None if it was never written completely, or was written by another version."""
        raw = read_json(self.run_dir(namespace) / "pod.json") or {}
        if raw.keys() != {known.name for known in dataclasses.fields(PodRecord)}:
            return None
        return PodRecord(**{**raw, "wanted": WantedState(raw["wanted"])})

    def save(self, namespace: str, record: PodRecord) -> None:
        make_private(self.run_dir(namespace))
        write_private(self.run_dir(namespace) / "pod.json", json.dumps(dataclasses.asdict(record)))

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[Path]:
        """A lock between all workers, in all processes. If a worker is killed, its lock is released. Raises
        RuntimeFailure if another worker has it.
        """
        make_private(self._locks)
        path = self._locks / f"{_checked(name)}.lock"
        descriptor = _locked(path, seconds=LOCK_SECONDS if wait else 0)
        try:
            yield path
        finally:
            os.close(descriptor)


def _checked(name: str) -> str:
    """Return the name if it is safe as a part of a path, which must not leave its directory. Raises RuntimeFailure."""
    if not _NAME.fullmatch(name):
        raise RuntimeFailure(f"{name!r} cannot name a pod or an agent", cause=Cause.BAD_NAME, permanent=True)
    return name


def _locked(path: Path, *, seconds: float) -> int:
    """The descriptor that holds the lock. If the lock file was removed in the meantime, the lock means nothing and is
    taken again. Raises RuntimeFailure.
    """
    until = time.monotonic() + seconds
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(path, descriptor):
                return descriptor
        except BlockingIOError:
            pass
        os.close(descriptor)
        if time.monotonic() > until:
            raise RuntimeFailure(f"another worker is at {path.stem}", cause=Cause.BUSY)
        time.sleep(0.05)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace the file as a whole; only its owner can read it. The caller must hold a lock, so that it is the only
    writer.
    """
    fresh = _half(path)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def _half(path: Path) -> Path:
    """The temporary file of a path. The name is always the same, so that the next writer replaces what a killed one
    left.
    """
    return path.with_name(f".{path.name}.tmp")


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in the file; None if there is no readable object."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None
