"""The program restic: which copy is used, and how it is called. Without a version that is new enough there are no
backups.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

VERSION = "0.18.0"
# The first version with `backup --group-by`, with names and passwords of REST servers from the environment, and with
# dumps in parts.
OLDEST = (0, 17)
ASK_SECONDS = 20.0
_SAYS = re.compile(r"restic (\d+)\.(\d+)")
# Keep restic small in memory, and also on a pod's processor.
_SMALL = {"GOGC": "30", "GOMAXPROCS": "2", "GOMEMLIMIT": "96MiB"}


class NoRestic(Exception):
    """There is no usable restic. The message is shown to people."""


def brought(cache: Path) -> Path:
    """The path of the copy of restic that this service downloads."""
    return cache / f"restic-{VERSION}" / "restic"


def find(configured: str, cache: Path) -> Path:
    """The configured restic, the machine's own, or the downloaded copy. Raises NoRestic."""
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
    """The complete environment of restic. The password is not in it, but comes through standard input."""
    kept = {"RESTIC_CACHE_DIR": str(cache)} if cache else {}
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "TMPDIR": os.environ.get("TMPDIR") or "/tmp",  # noqa: S108 # the default of all programs; restic writes its packs there first
        "RESTIC_REPOSITORY": repository,
        "RESTIC_PASSWORD_FILE": "/dev/stdin",
        "RESTIC_PROGRESS_FPS": "0.5",
        **kept,
        **_SMALL,
        **more,
    }


def _named(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
