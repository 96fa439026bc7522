"""Where the local runtime keeps things, and what it remembers of a pod: addresses and what is wanted, never a pid.

`pods/<namespace>/` is a pod's run directory, `data/<agent id>/` the agent's own, which outlives pods.
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

from agents.runtimes.base import RuntimeFailure

LOCK_SECONDS = 20.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class Wanted(StrEnum):
    RUNNING = "running"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A pod's `pod.json`. Tokens and password open nothing but this pod's own loopback ports."""

    agent_id: str
    wanted: Wanted
    asked_at: float  # since when it is wanted so
    ended: bool  # every process of it was seen to be gone
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
        """Beside the data, so that an agent keeps its public address over rebuilds."""
        return self._data / f"{_checked(agent_id)}.port"

    def port_files(self) -> list[Path]:
        return list(self._data.glob("*.port"))

    def forget_port(self, agent_id: str) -> None:
        path = self.port_file(agent_id)
        path.unlink(missing_ok=True)
        _half(path).unlink(missing_ok=True)

    def forget_locks(self) -> None:
        """Remove those of pods that are gone: whoever removes a pod may be killed before he comes to its lock."""
        for name in (path.stem for path in self._locks.glob("pod-*.lock")):
            if not self.run_dir(name).exists():
                with suppress(RuntimeFailure), self.lock(name, wait=False) as path:
                    if not self.run_dir(name).exists():
                        path.unlink(missing_ok=True)

    def namespaces(self) -> list[str]:
        """Every pod there is, half-made ones too."""
        try:
            return [entry.name for entry in os.scandir(self.pods) if _NAME.fullmatch(entry.name)]
        except FileNotFoundError:
            return []

    def record(self, namespace: str) -> Record | None:
        """What is remembered of the pod; None when its making was cut short or another version wrote it."""
        raw = read_json(self.run_dir(namespace) / "pod.json") or {}
        if raw.keys() != {known.name for known in dataclasses.fields(Record)}:
            return None
        return Record(**{**raw, "wanted": Wanted(raw["wanted"])})

    def save(self, namespace: str, record: Record) -> None:
        make_private(self.run_dir(namespace))
        write_private(self.run_dir(namespace) / "pod.json", json.dumps(dataclasses.asdict(record)))

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[Path]:
        """One worker at a time, over all processes; a killed one lets go of it. RuntimeFailure when it is busy."""
        make_private(self._locks)
        path = self._locks / f"{_checked(name)}.lock"
        descriptor = _locked(path, seconds=LOCK_SECONDS if wait else 0)
        try:
            yield path
        finally:
            os.close(descriptor)


def _checked(name: str) -> str:
    """A name becomes a path only when it cannot leave its directory."""
    if not _NAME.fullmatch(name):
        raise RuntimeFailure(f"{name!r} cannot name a pod or an agent", cause="BAD_NAME", permanent=True)
    return name


def _locked(path: Path, *, seconds: float) -> int:
    """The descriptor that holds the lock. A file that was removed meanwhile locks nothing: then again."""
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
            raise RuntimeFailure(f"another worker is at {path.stem}", cause="BUSY")
        time.sleep(0.05)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace the file whole, readable by its owner alone. The caller holds the lock that makes it the only writer."""
    fresh = _half(path)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def _half(path: Path) -> Path:
    """Always the same name, so that the next writer takes over what a killed one left."""
    return path.with_name(f".{path.name}.tmp")


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in the file; None when there is none that can be read."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None
