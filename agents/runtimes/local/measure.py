"""Measures a pod's memory and disk: all processes of the engine, and the agent's data, but not our two programs."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from agents.pod import processes

DISK_SECONDS = 5.0  # time limit for one agent's data; of a larger tree, only the part that was read counts
_BLOCK = 512
_LONG_PATH = 2_000  # characters, well below the kernel's 4,096
_OPEN_AT_MOST = 64


class ProcessTable:
    """All processes of the machine, read once: the children of each process, and the marks of each process."""

    def __init__(self, home: Path) -> None:
        self._children: dict[int, list[int]] = {}
        self._marked: dict[str, list[int]] = {}
        self._installing: set[int] = set()
        for process in psutil.process_iter():
            try:
                self._children.setdefault(process.ppid(), []).append(process.pid)
            except psutil.NoSuchProcess:
                continue
            self._note_marks(process.pid, str(home))

    def of(self, namespace: str, bridge: int | None) -> set[int]:
        """The engine's processes: all descendants of the bridge, and all other processes with the engine's marks of
        this pod.
        """
        return self._below(bridge) | set(self._marked.get(namespace, ()))

    def _note_marks(self, pid: int, home: str) -> None:
        environment = processes.environment_of(pid)
        role = environment.get(processes.ROLE)
        if role == processes.INSTALL:
            self._installing.add(pid)
        if role == processes.ENGINE and environment.get(processes.HOME) == home:
            self._marked.setdefault(environment.get(processes.NAMESPACE, ""), []).append(pid)

    def _below(self, pid: int | None) -> set[int]:
        """All descendants, except for a running installation, which belongs to the machine and not to the pod."""
        found: set[int] = set()
        waiting = list(self._children.get(pid, ())) if pid else []
        while waiting:
            child = waiting.pop()
            if child not in found and child not in self._installing:
                found.add(child)
                waiting += self._children.get(child, ())
        return found


def memory_of(pids: Iterable[int]) -> int:
    """Bytes of memory as proportional set size: memory that forked processes share counts once. The sum of resident
    sizes would count it for each process.
    """
    return sum(_memory(pid) for pid in pids)


def _memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        lines = []
    taken = [int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss:", "SwapPss:"))]
    return sum(taken) if taken else _resident(pid)


def _resident(pid: int) -> int:
    """The resident size, for a process whose memory map may not be read."""
    try:
        return psutil.Process(pid).memory_info().rss
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def disk_of(directory: Path, *, seconds: float = DISK_SECONDS) -> int:
    """Bytes of all blocks that the files use. A file with several names counts once, and links are not followed.
    Files that disappear during the measurement, or that cannot be opened, do not count. The same is true for the rest
    of the tree when the time is over.
    """
    return _Walk(directory, until=time.monotonic() + seconds).total()


class _Base:
    """An open directory to which paths are relative. It is closed when no waiting path uses it any more."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = os.dup(descriptor)

    def __del__(self) -> None:
        os.close(self.descriptor)


class _Walk:
    """Walks a tree depth first, by paths relative to an open directory, because a tree may be deeper than the longest
    path.
    """

    def __init__(self, directory: Path, *, until: float) -> None:
        self._until = until
        self._waiting: list[tuple[_Base | None, str, int]] = [(None, str(directory), 0)]
        self._seen: set[tuple[int, int]] = set()
        self._blocks = 0

    def total(self) -> int:
        while self._waiting and time.monotonic() < self._until:
            base, path, depth = self._waiting.pop()
            try:
                self._read(base, path, depth)
            except OSError:
                continue
        return self._blocks * _BLOCK

    def _read(self, base: _Base | None, path: str, depth: int) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, dir_fd=base.descriptor if base else None)
        try:
            if len(path) > _LONG_PATH:
                base, path, depth = _Base(descriptor), ".", depth + 1
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if time.monotonic() >= self._until:
                        return
                    self._count(entry)
                    if entry.is_dir(follow_symlinks=False) and depth < _OPEN_AT_MOST:
                        self._waiting.append((base, f"{path}/{entry.name}", depth))
        finally:
            os.close(descriptor)

    def _count(self, entry: os.DirEntry[str]) -> None:
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            return
        if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
            if (info.st_dev, info.st_ino) in self._seen:
                return
            self._seen.add((info.st_dev, info.st_ino))
        self._blocks += info.st_blocks
