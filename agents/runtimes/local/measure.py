"""How much memory and disk a pod takes: the engine's process tree and the agent's data, without our two programs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from agents.pod import processes

_BLOCK = 512


class Table:
    """All processes of the machine with their parents, read once."""

    def __init__(self) -> None:
        self._children: dict[int, list[int]] = {}
        for process in psutil.process_iter():
            try:
                self._children.setdefault(process.ppid(), []).append(process.pid)
            except psutil.NoSuchProcess:
                continue

    def below(self, pid: int) -> list[int]:
        """Every descendant of the process, but for an installation that runs."""
        found: list[int] = []
        waiting = list(self._children.get(pid, ()))
        while waiting:
            child = waiting.pop()
            if processes.environment_of(child).get(processes.ROLE) == processes.INSTALL:
                continue
            found.append(child)
            waiting += self._children.get(child, ())
        return found


def memory_of(pids: Iterable[int]) -> int:
    """Proportional set size: what is shared between an engine's processes counts once."""
    return sum(_memory(pid) for pid in pids)


def _memory(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return psutil.Process(pid).memory_info().rss
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def disk_of(directory: Path) -> int:
    """The blocks that the files take, a file with several names once. What vanishes meanwhile does not count."""
    seen: set[tuple[int, int]] = set()
    total = 0
    waiting = [str(directory)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif (info.st_dev, info.st_ino) in seen:
                continue
            seen.add((info.st_dev, info.st_ino))
            total += info.st_blocks * _BLOCK
    return total
