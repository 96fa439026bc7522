"""One backup of the agent's data: whole copies of its databases first, then restic, which sends what is new."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.engines.base import EngineError
from agents.pod import restic
from agents.pod.archive import COPIES, MEMORY, OWN, STATES
from agents.pod.bridge import damage, databases, files, linux
from agents.pod.removal import remove

log = logging.getLogger(__name__)

TAKE_SECONDS = 4 * 3600.0
CHECK_SECONDS = 60.0  # for the damage in copies of databases
# Never backed up, whatever the engine; of what is ours, the copies alone are.
COMMON = ("tmp", "lost+found", *(f"{OWN}/{name}" for name in STATES))
PACK_MEGABYTES = 8
# restic's exit status when a file vanished or could not be read: the snapshot is there.
INCOMPLETE = 3
_LINE_BYTES = 1024 * 1024
_GLOB = re.compile(r"([*?\[\\])")


class NoBackup(Exception):
    """There is no backup. The message is for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOrder:
    """`url` and `token` lead to the repository of this agent, and to no other; `password` opens it."""

    id: str
    agent_id: str
    url: str
    token: str = field(repr=False)
    password: str = field(repr=False)
    most_bytes: int
    snapshot: str = ""  # what is restored


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is backed up, and with what."""

    data: Path
    left_out: tuple[str, ...]  # patterns below the data directory
    program: Path
    cache: Path
    remembered: Callable[[], Mapping[str, Any]]  # raises EngineError, OSError
    marks: Mapping[str, str]
    damaged: Callable[[], str | None] = lambda: None  # what is broken of the engine's own data


@dataclass(slots=True)
class BackupProgress:
    """`percent` is of the bytes that are there; `pid` is restic's while it runs."""

    percent: int = 0
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """`note`: what is not as it should be, and yet no failure."""

    snapshot: str
    size: int
    note: str
    broken: int  # databases that are not whole in it


async def take(source: Source, order: PodOrder, progress: BackupProgress) -> Taken:
    """Raises NoBackup. What a killed one left is cleared away by the next."""
    own = source.data / OWN
    try:
        found = await asyncio.to_thread(databases.look, source.data, own=OWN, most_bytes=order.most_bytes)
        await asyncio.to_thread(remove, source.data / COPIES)
        copied = await asyncio.to_thread(_copy_databases, source.data, found.databases)
        damaged = await asyncio.to_thread(_damaged, source, copied)
        await asyncio.to_thread(_write_memory, source)
        async with asyncio.timeout(TAKE_SECONDS):
            as_files = len(found.databases) - len(copied)
            return await _run(source, order, copied, progress, as_files=as_files, damaged=damaged)
    except TimeoutError as error:
        raise NoBackup(f"it was not over after {TAKE_SECONDS:.0f} s") from error
    except databases.TooMuch as error:
        raise NoBackup(str(error)) from error
    except OSError as error:
        raise NoBackup(error.strerror or str(error)) from error
    finally:
        progress.pid = None
        with contextlib.suppress(OSError):
            await asyncio.to_thread(remove, source.data / COPIES)
        with contextlib.suppress(OSError):
            (source.data / MEMORY).unlink(missing_ok=True)
            own.rmdir()


def _write_memory(source: Source) -> None:
    """So that it can be told later without unpacking all. A backup without it is a backup too."""
    path = source.data / MEMORY
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        files.write(path, json.dumps(source.remembered()))
    except (EngineError, OSError) as error:
        log.warning("what the engine has learned is not in the backup: %s", error)


def _copy_databases(data: Path, found: list[Path]) -> list[Path]:
    return [path for path in found if databases.copy(data / path, data / COPIES / path)]


def _damaged(source: Source, copied: list[Path]) -> int:
    """A copy is as broken as what it was copied from; looked at for a while only. The engine's own data counts once."""
    until = time.monotonic() + CHECK_SECONDS
    broken = sum(not damage.is_sound(source.data / COPIES / path, until=until, is_copy=True) for path in copied)
    return broken or (1 if source.damaged() else 0)


async def _run(
    source: Source, order: PodOrder, copied: list[Path], progress: BackupProgress, *, as_files: int, damaged: int
) -> Taken:
    process = await asyncio.create_subprocess_exec(
        *_command(source, order, copied),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
        cwd=source.data,
        env=environment(source, order),
        start_new_session=True,
        preexec_fn=linux.die_before_the_engine,
    )
    linux.leave_to_asyncio(process)
    progress.pid = process.pid
    complaints = asyncio.create_task(_complaints(process))
    try:
        _give_password(process, order.password)
        summary = await _summary(process, progress)
        status = await process.wait()
        said = await complaints
    finally:
        complaints.cancel()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if status == -signal.SIGKILL:
        raise NoBackup("restic was killed, most likely because the pod's memory is full")
    if status not in {0, INCOMPLETE} or not summary.get("snapshot_id"):
        raise NoBackup(f"restic ended with {status}: {said or 'without a word'}")
    notes = [f"{as_files} databases are copied as files"] if as_files else []
    notes += [f"{damaged} databases, or the engine's own data, are damaged"] if damaged else []
    notes += [f"not all could be read: {said}"] if status == INCOMPLETE else []
    return Taken(
        snapshot=str(summary["snapshot_id"]),
        size=int(summary["total_bytes_processed"]),
        note="; ".join(notes),
        broken=as_files + damaged,
    )


def _command(source: Source, order: PodOrder, copied: list[Path]) -> list[str]:
    """The directory as the root of the snapshot; the copies take the place of the databases in a restore."""
    root = _GLOB.sub(r"\\\1", str(source.data))
    patterns = [*(f"{root}/{pattern}" for pattern in (*COMMON, *source.left_out))]
    patterns += [f"{root}/{_GLOB.sub(_ESCAPED, str(path))}{ending}" for path in copied for ending in databases.BESIDE]
    return [
        str(source.program),
        "backup",
        ".",
        "--json",
        *("--retry-lock", "5m"),  # while a worker takes away what an owner has deleted
        *("--host", order.agent_id, "--group-by", "host", "--tag", order.id),
        *("--pack-size", str(PACK_MEGABYTES), "--option", "rest.connections=3"),
        *(word for pattern in patterns for word in ("--exclude", pattern)),
    ]


_ESCAPED = r"\\\1"


def environment(source: Source, order: PodOrder) -> dict[str, str]:
    """What restic sees here: the way through the pod's gateway, and whose process it is."""
    door = {"RESTIC_REST_USERNAME": "pod", "RESTIC_REST_PASSWORD": order.token}
    return restic.environment(repository=f"rest:{order.url}", cache=source.cache, more={**door, **source.marks})


def _give_password(process: asyncio.subprocess.Process, password: str) -> None:
    if process.stdin is None:
        raise NoBackup("restic has no standard input")
    process.stdin.write(password.encode())
    process.stdin.close()


async def _summary(process: asyncio.subprocess.Process, progress: BackupProgress) -> dict[str, Any]:
    """What restic says at its end; on the way, how far it is."""
    summary: dict[str, Any] = {}
    if process.stdout is None:
        raise NoBackup("restic has no standard output")
    async for line in process.stdout:
        said = _json(line)
        if said.get("message_type") == "summary":
            summary = said
        elif said.get("message_type") == "status":
            progress.percent = min(int(float(said.get("percent_done") or 0) * 100), 100)
    return summary


async def _complaints(process: asyncio.subprocess.Process) -> str:
    """The last that it said on standard error, in its own words."""
    last = ""
    if process.stderr is None:
        return last
    async for line in process.stderr:
        said = _json(line)
        words = (
            said.get("message") or (said.get("error") or {}).get("message") if said else line.decode("utf-8", "replace")
        )
        last = str(words).strip()[:300] or last
    return last


def _json(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
