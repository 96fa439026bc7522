"""An agent's data on a disk of a few megabytes; where none can be mounted, some files lead to /dev/full."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

_FILLERS = {"zeros": 4096, "rest": 1}  # the second file fills the rest of the last page


class SmallDisk:
    def __init__(self, data: Path, *, megabytes: int = 1) -> None:
        self.data = data
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(data)]
        self.small = subprocess.run(mount, capture_output=True, check=False).returncode == 0

    def fill(self) -> None:
        """Fill the disk: from now on nothing can be written."""
        if not self.small:
            for path in (self.data / "pi" / "sessions").rglob("*.jsonl"):
                path.unlink()
                path.symlink_to("/dev/full")
            (self.data / "pi" / ".settings.json.tmp").symlink_to("/dev/full")
            return
        for name, size in _FILLERS.items():
            with contextlib.suppress(OSError), (self.data / "workspace" / name).open("wb", buffering=0) as file:
                while file.write(b"x" * size):
                    pass

    def clear(self) -> None:
        for path in self.data.rglob("*"):
            if path.name in _FILLERS or path.is_symlink():
                path.unlink()

    def close(self) -> None:
        if self.small:
            subprocess.run(["umount", "-l", str(self.data)], check=True)
