"""The program restic: which one is used, and how it is called. Without one that is new enough there is no backup."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

VERSION = "0.18.0"
# The first with `backup --group-by`, names and passwords of REST servers from the environment, and dumps in pieces.
OLDEST = (0, 17)
ASK_SECONDS = 20.0
_SAYS = re.compile(r"restic (\d+)\.(\d+)")
# restic itself stays small, on a pod's processor too.
_SMALL = {"GOGC": "30", "GOMAXPROCS": "2", "GOMEMLIMIT": "96MiB"}


class NoRestic(Exception):
    """No usable copy is there. The message is for people."""


def brought(cache: Path) -> Path:
    """Where a copy is that we brought ourselves."""
    return cache / f"restic-{VERSION}" / "restic"


def find(configured: str, cache: Path) -> Path:
    """The configured one, the machine's own, or the one that we brought. Raises NoRestic."""
    if configured:
        if not is_new_enough(Path(configured)):
            raise NoRestic(f"RESTIC={configured!r} is no restic of version {_named(OLDEST)} or newer")
        return Path(configured)
    own = shutil.which("restic")
    for path in (Path(own) if own else None, brought(cache)):
        if path and path.is_file() and is_new_enough(path):
            return path
    raise NoRestic(f"there is no restic {_named(OLDEST)} or newer here: install one, or name it in RESTIC")


@functools.cache
def is_new_enough(path: Path) -> bool:
    try:
        asked = subprocess.run(
            [path, "version"], capture_output=True, text=True, timeout=ASK_SECONDS, env={}, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    said = _SAYS.match(asked.stdout)
    return said is not None and (int(said[1]), int(said[2])) >= OLDEST


def environment(*, repository: str, cache: Path | None, more: Mapping[str, str]) -> dict[str, str]:
    """All that it sees. Its password comes through a pipe: standard input."""
    kept = {"RESTIC_CACHE_DIR": str(cache)} if cache else {}
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "TMPDIR": os.environ.get("TMPDIR") or "/tmp",  # noqa: S108 # as every program; packs wait there
        "RESTIC_REPOSITORY": repository,
        "RESTIC_PASSWORD_FILE": "/dev/stdin",
        "RESTIC_PROGRESS_FPS": "0.5",
        **kept,
        **_SMALL,
        **more,
    }


def _named(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
