"""Images and their containers, run as a cluster runs them: one user, no privileges, and a read-only root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WHITEOUT = ".wh."
_DEVICES = {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]}


@dataclass(frozen=True)
class Image:
    config: dict[str, Any]
    root: Path

    @classmethod
    def unpack(cls, archive: Path, target: Path) -> Image:
        """Unpack layer by layer, with owners and modes. The program tar does this: it knows every kind of entry."""
        blobs, root = target / "blobs", target / "root"
        blobs.mkdir()
        root.mkdir(mode=0o755)
        with tarfile.open(archive) as file:
            file.extractall(blobs, filter="data")
        index = json.loads((blobs / "index.json").read_text())
        manifest = _blob(blobs, index["manifests"][0])
        for layer in manifest["layers"]:
            command = [
                "tar",
                "--extract",
                "--numeric-owner",
                "--preserve-permissions",
                "--file",
                str(_path(blobs, layer)),
            ]
            subprocess.run([*command, "--directory", root], check=True)
            _whiten(root)
        config = _blob(blobs, manifest["config"])
        shutil.rmtree(blobs)
        return cls(config=config["config"], root=root)


def _path(blobs: Path, described: Mapping[str, str]) -> Path:
    return blobs / "blobs" / described["digest"].replace(":", "/")


def _blob(blobs: Path, described: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_path(blobs, described).read_text())
    return found


def _whiten(root: Path) -> None:
    """Delete the files that a layer marks as deleted."""
    for mark in root.rglob(f"{_WHITEOUT}*"):
        gone = mark.with_name(mark.name.removeprefix(_WHITEOUT))
        mark.unlink()
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class OciContainer:
    """A container with the machine's own network, so that tests reach it on loopback; everything else is isolated."""

    root: Path
    bundle: Path  # a directory for the runtime's files
    uid: int
    group: int = 10000
    mounts: Mapping[str, Path]  # from the path in the container to the path on this machine
    read_only: frozenset[str] = frozenset()
    environment: Mapping[str, str]
    cwd: str = "/"

    def start(self, *command: str | Path) -> subprocess.Popen[bytes]:
        self.bundle.mkdir(parents=True)
        (self.bundle / "config.json").write_text(json.dumps(self._spec([str(word) for word in command])))
        runtime = shutil.which("runc") or shutil.which("crun")
        assert runtime, "needs runc or crun"
        options = ["--root", str(self.bundle / "state"), *_without_cgroups(runtime)]
        with (self.bundle / "out").open("wb") as out:
            return subprocess.Popen(
                [runtime, *options, "run", "--bundle", self.bundle, f"test-{os.getpid()}"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def run(self, *command: str | Path) -> tuple[int, str]:
        """Run a command. Returns its exit status and its output."""
        code = self.start(*command).wait(60)
        return code, self.said()

    def said(self) -> str:
        return (self.bundle / "out").read_text(errors="replace")

    def _spec(self, command: Sequence[str]) -> dict[str, Any]:
        none: list[str] = []
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": self.uid, "gid": self.uid, "additionalGids": [self.group]},
                "args": list(command),
                "env": [f"{name}={value}" for name, value in self.environment.items()],
                "cwd": self.cwd,
                "noNewPrivileges": True,
                "capabilities": dict.fromkeys(("bounding", "effective", "permitted", "inheritable"), none),
            },
            "root": {"path": str(self.root), "readonly": True},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                _DEVICES,
                *(self._mount(place, source) for place, source in self.mounts.items()),
            ],
            "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]},
        }

    def _mount(self, place: str, source: Path) -> dict[str, Any]:
        access = "ro" if place in self.read_only else "rw"
        return {"destination": place, "type": "bind", "source": str(source), "options": ["rbind", access]}


def _without_cgroups(runtime: str) -> list[str]:
    return ["--cgroup-manager=disabled"] if Path(runtime).name == "crun" else []
