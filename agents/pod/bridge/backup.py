"""Makes one backup of the agent's data: first whole copies of its databases, then restic, which sends only new data."""

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
CHECK_SECONDS = 60.0  # time limit for the search for damage in the copies of databases
# Never backed up, for any engine. Of `.agentpods`, only the copies and the memory file are backed up.
COMMON = ("tmp", "lost+found", *(f"{OWN}/{name}" for name in STATES))
PACK_MEGABYTES = 8
# restic exits with this status when a file vanished or could not be read. The snapshot exists all the same.
INCOMPLETE = 3
_LINE_BYTES = 1024 * 1024
_GLOB = re.compile(r"([*?\[\\])")


class NoBackup(Exception):
    """The backup failed. The message is shown to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOrder:
    """`url` and `token` give access to the repository of this agent only; `password` decrypts it."""

    id: str
    agent_id: str
    url: str
    token: str = field(repr=False)
    password: str = field(repr=False)
    most_bytes: int
    snapshot: str = ""  # the snapshot to restore


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupSource:
    """What is backed up, and which tools and settings are used."""

    data: Path
    left_out: tuple[str, ...]  # patterns of paths below the data directory
    program: Path
    cache: Path
    remembered: Callable[[], Mapping[str, Any]]  # raises EngineError, OSError
    marks: Mapping[str, str]
    damaged: Callable[[], str | None] = lambda: None  # says what is broken in the engine's own data


@dataclass(slots=True)
class BackupProgress:
    """`percent` counts the bytes that exist; `pid` is the process id of restic while it runs."""

    percent: int = 0
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The result of a backup. `note` describes a problem that does not make the backup fail."""

    snapshot: str
    size: int
    note: str
    broken: int  # number of databases in the backup that are damaged or only copied as files


async def take(source: BackupSource, order: PodOrder, progress: BackupProgress) -> Taken:
    """Make one backup. Raises NoBackup. After a killed run, the next run removes the leftovers."""
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


def _write_memory(source: BackupSource) -> None:
    """Save what the engine has learned, so that it can be shown later without unpacking the backup. A failure here does
    not stop the backup.
    """
    path = source.data / MEMORY
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        files.write(path, json.dumps(source.remembered()))
    except (EngineError, OSError) as error:
        log.warning("what the engine has learned is not in the backup: %s", error)


def _copy_databases(data: Path, found: list[Path]) -> list[Path]:
    return [path for path in found if databases.copy(data / path, data / COPIES / path)]


def _damaged(source: BackupSource, copied: list[Path]) -> int:
    """How many databases are damaged, by a look at the copies: a copy is as damaged as its original. The search stops
    after CHECK_SECONDS.
    Without a damaged copy, the answer is 1 if the engine's own data is damaged.
    """
    until = time.monotonic() + CHECK_SECONDS
    broken = sum(not damage.is_sound(source.data / COPIES / path, until=until, is_copy=True) for path in copied)
    return broken or (1 if source.damaged() else 0)


async def _run(
    source: BackupSource, order: PodOrder, copied: list[Path], progress: BackupProgress, *, as_files: int, damaged: int
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


def _command(source: BackupSource, order: PodOrder, copied: list[Path]) -> list[str]:
    """The restic command. The data directory is the root of the snapshot. Copied databases are left out as files,
    because a restore uses their copies.
    """
    root = _GLOB.sub(r"\\\1", str(source.data))
    patterns = [*(f"{root}/{pattern}" for pattern in (*COMMON, *source.left_out))]
    patterns += [f"{root}/{_GLOB.sub(_ESCAPED, str(path))}{ending}" for path in copied for ending in databases.BESIDE]
    return [
        str(source.program),
        "backup",
        ".",
        "--json",
        *("--retry-lock", "5m"),  # waits while a worker removes snapshots that the owner deleted
        *("--host", order.agent_id, "--group-by", "host", "--tag", order.id),
        *("--pack-size", str(PACK_MEGABYTES), "--option", "rest.connections=3"),
        *(word for pattern in patterns for word in ("--exclude", pattern)),
    ]


_ESCAPED = r"\\\1"


def environment(source: BackupSource, order: PodOrder) -> dict[str, str]:
    """The environment of restic: access to the repository through the pod's gateway, and the marks of this pod's
    processes.
    """
    door = {"RESTIC_REST_USERNAME": "pod", "RESTIC_REST_PASSWORD": order.token}
    return restic.environment(repository=f"rest:{order.url}", cache=source.cache, more={**door, **source.marks})


def _give_password(process: asyncio.subprocess.Process, password: str) -> None:
    if process.stdin is None:
        raise NoBackup("restic has no standard input")
    process.stdin.write(password.encode())
    process.stdin.close()


async def _summary(process: asyncio.subprocess.Process, progress: BackupProgress) -> dict[str, Any]:
    """Read restic's output until it ends and return its summary. On the way, keep the progress up to date."""
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
    """The last message that restic wrote to standard error."""
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
