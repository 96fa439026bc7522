"""Programs from Debian's packages, for tests: downloaded with this machine's apt sources, unpacked, not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / "var"


class NoProgram(Exception):
    """The program is not on this machine, and apt cannot download it."""


def program(name: str, *, package: str) -> Path:
    """The program that the variable NAME names, else the one in the path, else the one of the package."""
    if named := os.environ.get(name.upper()) or shutil.which(name):
        return Path(named)
    home = CACHE / name
    if not home.exists():
        _fetch(name, package, home)
    return home / "usr" / "bin" / name


def _fetch(name: str, package: str, home: Path) -> None:
    """Download the package, completely or not at all: several test processes may want it at the same time."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        for command in (
            ["apt-get", "download", "--quiet", package],
            ["sh", "-c", f"dpkg-deb -x {package}_*.deb unpacked"],
        ):
            try:
                subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=120)
            except (OSError, subprocess.SubprocessError) as error:
                raise NoProgram(f"{' '.join(command)}: {error}; name the program in {name.upper()}") from error
        if not home.exists():
            (Path(place) / "unpacked").rename(home)
