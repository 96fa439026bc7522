"""Installs restic where the machine has none: Debian's own package, from this machine's own sources, pinned by its
hash.

`python -m agents.backups.supply DIRECTORY` installs it into a directory, for an image.

An ordinary user can do this: apt works in our own directory and changes nothing of the system.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.pod import restic
from agents.pod.restic import NoRestic

# The release of Debian that has this version, and the hash of the program in its package, by machine.
SUITE = "trixie"
_PACKAGE = f"restic={restic.VERSION}-*"
_SHA256 = {
    "x86_64": "7135345e471b64fe43356f8cc665d33d9e52fb042ba39e5cff77310c46d46857",
    "aarch64": "80d615c1c49b7ccd8121e9ce4e1944da274d3d2f28c24f8d54ec70d9d8957803",
}
STEP_SECONDS = 300.0
_RELEASES = re.compile(r"\b(?:bullseye|bookworm|trixie|forky|stable|testing|sid)\b")


def ensure(configured: str, cache: Path) -> Path:
    """The restic to use here; installed if there is none. Raises NoRestic, also when it cannot be installed."""
    try:
        return restic.find(configured, cache)
    except NoRestic:
        if configured:
            raise
    _bring(restic.brought(cache))
    return restic.find(configured, cache)


def _bring(target: Path) -> None:
    expected = _SHA256.get(platform.machine())
    if expected is None:
        raise NoRestic(f"no restic is known for this machine ({platform.machine()}): name one in RESTIC")
    target.parent.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with _lock(target.parent.with_name(f".{target.parent.name}.lock")):
        if target.is_file():
            return
        for leftover in target.parent.parent.glob(f".{target.parent.name}.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        work = target.parent.with_name(f".{target.parent.name}.new-{secrets.token_hex(4)}")
        work.mkdir(mode=0o755)
        try:
            found = _of_debian(work)
            if hashlib.sha256(found.read_bytes()).hexdigest() != expected:
                raise NoRestic("Debian's restic is not the one that is pinned here: name a copy of yours in RESTIC")
            fresh = work / "done"
            fresh.mkdir()
            found.rename(fresh / "restic")
            shutil.rmtree(target.parent, ignore_errors=True)
            fresh.rename(target.parent)
        except OSError as error:
            raise NoRestic(f"restic cannot be brought: {error}") from error
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _of_debian(work: Path) -> Path:
    """Get the program from Debian's package. The machine's own sources say which server has it and which keys are
    trusted."""
    sources = work / "sources"
    sources.mkdir()
    copied = [_copy(path, sources) for path in _own_sources()]
    if not any(copied):
        raise NoRestic("this machine has no sources of Debian that restic could come from: name a copy in RESTIC")
    for name in ("state/lists/partial", "cache/archives/partial", "package"):
        (work / name).mkdir(parents=True)
    (work / "state" / "status").touch()
    options = {
        "Dir::State": work / "state",
        "Dir::State::status": work / "state" / "status",
        "Dir::Cache": work / "cache",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": sources,
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]
    _run([*apt, "update"], work)
    _run([*apt, "download", _PACKAGE], work / "package")
    package = next((work / "package").glob("restic_*.deb"), None)
    if package is None:
        raise NoRestic("apt brought no package of restic")
    _run(["dpkg-deb", "-x", str(package), str(work / "unpacked")], work)
    return work / "unpacked" / "usr" / "bin" / "restic"


def _own_sources() -> list[Path]:
    etc = Path("/etc/apt")
    return [
        *etc.glob("sources.list"),
        *sorted(etc.glob("sources.list.d/*.sources")),
        *etc.glob("sources.list.d/*.list"),
    ]


def _copy(path: Path, to: Path) -> bool:
    """Copy a list of sources with the name of our release. False if it names no release of Debian: it is not Debian's
    then."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if not any(_RELEASES.search(line) for line in lines):
        return False
    changed = "\n".join(_RELEASES.sub(SUITE, line) for line in lines)
    (to / f"{path.stem}{'.sources' if path.suffix == '.sources' else '.list'}").write_text(changed, encoding="utf-8")
    return True


def _run(command: list[str], cwd: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=STEP_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoRestic(f"restic cannot be brought: {command[0]} ({type(error).__name__})") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:] or ["no word"]
        raise NoRestic(f"restic cannot be brought: {command[0]} says {said[0][:200]!r}")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Lock a file. The process holds the lock, so the kernel frees it however the process ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.stdout.write(f"{ensure('', Path(sys.argv[1]))}\n")
