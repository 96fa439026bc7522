"""Reports the progress of an installation: to this bridge, and to other bridges of this machine that wait for the same
installation.
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
from collections.abc import Callable
from pathlib import Path

from agents.engines.base import EngineProgram, NpmPackage, PypiPackage
from agents.pod.bridge import files

Tell = Callable[[str], None]

_TARBALL = re.compile(r"npm http (?:fetch GET 200|cache) (\S+\.tgz)")
_COLLECTING = re.compile(r"(?:Collecting|Processing) (\S+)")  # pip says "Processing" for a file of this machine
_REQUIREMENT = re.compile(r"^[A-Za-z0-9][^\s#]*==", re.MULTILINE)
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


class Progress:
    """Counts packages by the lines of an installer. Pass each line to `heard`."""

    def __init__(self, package: EngineProgram, tell: Tell) -> None:
        self._name = f"{package.name} {package.version}"
        self._tell = tell
        self._step = _TARBALL if isinstance(package, NpmPackage) else _COLLECTING
        self._total = _count(package)
        self._seen: set[str] = set()
        self._say("0 packages" if self._total is None else f"0 of {self._total} packages (0 %)")

    def heard(self, line: str) -> None:
        found = self._step.search(line)
        if found and found[1] not in self._seen:
            self._seen.add(found[1])
            self._say(self._words())
        elif line.startswith("Installing collected packages"):
            self._say(f"all {len(self._seen)} packages are downloaded and are being unpacked")

    def checking(self) -> None:
        self._say("all packages are installed, and its version is being checked")

    def _words(self) -> str:
        count = len(self._seen)
        if self._total is None or count > self._total:
            return f"{count} packages"
        return f"{count} of {self._total} packages ({count * 100 // self._total} %)"

    def _say(self, words: str) -> None:
        self._tell(f"installing {self._name}: {words}")


def _count(package: EngineProgram) -> int | None:
    """How many packages the lock installs on this machine; None if the lock cannot be read."""
    try:
        text = package.lock.read_text(encoding="utf-8")
        if isinstance(package, PypiPackage):
            return len(_REQUIREMENT.findall(text)) or None
        listed = json.loads(text)["packages"]
        return sum(1 for path, one in listed.items() if path and _is_for_us(one)) or None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_for_us(package: dict[str, list[str]]) -> bool:
    machine = platform.machine().lower()
    fits = "linux" in package.get("os", ["linux"]) and _MACHINES.get(machine, machine) in package.get(
        "cpu", [_MACHINES.get(machine, machine)]
    )
    return fits and "glibc" in package.get("libc", ["glibc"])


class ProgressFile:
    """A file beside the installed engines in which the installing bridge writes its progress for other bridges."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, words: str) -> None:
        with contextlib.suppress(OSError):  # the file is only for information
            files.write(self._path, words)

    def read(self) -> str:
        try:
            words = self._path.read_text(encoding="utf-8")[:200]
        except (OSError, ValueError):
            words = "it has just begun"
        return f"another agent of this machine is installing it: {words}"

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()
