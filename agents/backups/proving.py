"""`python -m agents.backups.proving`: restores one backup into a scratch directory as a pod does, and checks it.

It reads what restic needs from standard input and writes the verdict to standard output. It is a program of its own,
because what an agent put into its repository is not trusted. So it gets the repository's password, but nothing that
opens the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from agents.pod import archive
from agents.pod.archive import COPIES
from agents.pod.bridge import linux
from agents.pod.bridge.databases import MOST_DATABASES

DATABASE_SECONDS = 120.0
DATABASE_HEAP_BYTES = 64 * 1024 * 1024
_STEPS = 10_000  # steps of SQLite's machine between two looks at the clock
_PIECE = 1024 * 1024
_LINE_BYTES = 1024 * 1024


class Unproven(Exception):
    """This backup does not give back what it should. The message is for people."""


def main() -> None:
    given = json.load(sys.stdin)
    linux.die_with_parent()
    if os.getppid() != given["parent"]:
        return  # the parent ended before, so another drill may use the scratch directory
    try:
        verdict: dict[str, object] = {"ok": True, **prove(given, Path(given["scratch"]))}
    except (Unproven, archive.InvalidArchive, OSError, sqlite3.Error) as error:
        verdict = {"ok": False, "message": str(error)[:300]}
    json.dump(verdict, sys.stdout)


def prove(given: dict[str, Any], scratch: Path) -> dict[str, int]:
    """Restore the backup, then check it: names and sizes against the snapshot, contents by checksum, and each database
    by SQLite.

    `broken` is how many databases were broken when the backup was made. Returns the number of files, bytes and
    databases. Raises Unproven, Refused, OSError.
    """
    data, sums = scratch / "data", scratch / "sums"
    data.mkdir()
    with sums.open("w", encoding="ascii") as said:
        files, total = _restore(given, data, said)
    _compare_contents(data, sums)
    listed, databases = _compare_names(given, data)
    if listed != files:
        raise Unproven(f"the snapshot names {listed} files, and {files} came out of it")
    failures = [failure for database in databases if (failure := _failure(data / database))]
    if len(failures) > given["broken"]:
        raise Unproven(failures[0])
    return {"files": files, "bytes": total, "databases": len(databases)}


def _restore(given: dict[str, Any], data: Path, sums: IO[str]) -> tuple[int, int]:
    files = 0

    def note(name: str, digest: str) -> None:
        nonlocal files
        files += 1
        sums.write(f"{digest} {os.fsencode(name).hex()}\n")

    with _restic(given, "dump", given["snapshot"], "/", "--archive", "tar") as dump:
        total = archive.unpack(dump, data, most_bytes=given["most_bytes"], written=note)
        while dump.read(_PIECE):
            pass  # the padding after the end of the archive
    return files, total


def _compare_contents(data: Path, sums: Path) -> None:
    with sums.open(encoding="ascii") as said:
        for line in said:
            expected, name = line.split()
            path = data / os.fsdecode(bytes.fromhex(name))
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != expected:
                raise Unproven(f"{str(path.relative_to(data))[:200]!r} is not what the repository holds")


def _compare_names(given: dict[str, Any], data: Path) -> tuple[int, list[str]]:
    """How many files the snapshot names, and which of them are complete copies of databases."""
    files = 0
    databases: list[str] = []
    with _restic(given, "ls", "--json", given["snapshot"]) as listed:
        while line := listed.readline(_LINE_BYTES):
            node = json.loads(line)
            if node.get("type") != "file":
                continue
            path = str(node["path"]).removeprefix("/")
            place = archive.place_of(path)
            if place is None:
                continue
            files += 1
            found = (data / place).lstat()
            if not stat.S_ISREG(found.st_mode) or found.st_size != int(node.get("size") or 0):
                raise Unproven(f"{place[:200]!r} has another size than in the snapshot")
            if path.startswith(f"{COPIES}/") and len(databases) < MOST_DATABASES:
                databases.append(place)
    return files, databases


def _failure(database: Path) -> str:
    """The first error that SQLite's integrity check finds, or "". Time and memory are limited, because an agent may
    have made any file."""
    until = time.monotonic() + DATABASE_SECONDS
    name = f"file:{quote(str(database))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(name, uri=True)) as connection:
        connection.execute(f"PRAGMA hard_heap_limit={DATABASE_HEAP_BYTES}")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        try:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            found = str(error)
    return "" if found == "ok" else f"the database {database.name[:100]!r} is not whole: {str(found)[:150]}"


@contextmanager
def _restic(given: dict[str, Any], *words: str) -> Iterator[IO[bytes]]:
    """Run restic and yield its output. Raises Unproven with restic's last line when restic fails."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [given["program"], "--quiet", "--no-cache", "--no-lock", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=given["environment"],
            preexec_fn=linux.die_with_parent,  # noqa: PLW1509 # this program has one thread
        )
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("pipes were asked for")
        try:
            process.stdin.write(given["password"].encode())
            process.stdin.close()
            yield process.stdout
            if process.wait() != 0:
                complaints.seek(0)
                said = complaints.read(_PIECE).decode("utf-8", "replace").strip().splitlines()
                raise Unproven(f"restic {words[0]}: {said[-1] if said else process.returncode}")
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
