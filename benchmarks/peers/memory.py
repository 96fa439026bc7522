"""Memory of a program with its children: the proportional share (PSS), in which shared pages count once."""

from __future__ import annotations

import re
from pathlib import Path

import psutil

PROC = Path("/proc")
_PSS = re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)


class NoPss(ValueError):
    def __init__(self) -> None:
        super().__init__("smaps_rollup without a line `Pss:`")


def pss_bytes(rollup: str) -> int:
    """The PSS that the text of a /proc/PID/smaps_rollup says."""
    found = _PSS.search(rollup)
    if found is None:
        raise NoPss
    return int(found[1]) * 1024


def of_tree(pid: int) -> int:
    """The PSS of the process and its children. A process that ends meanwhile counts as nothing."""
    root = psutil.Process(pid)
    return sum(_of(process.pid) for process in [root, *root.children(recursive=True)])


def _of(pid: int) -> int:
    try:
        rollup = (PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pss_bytes(rollup) if rollup else 0
