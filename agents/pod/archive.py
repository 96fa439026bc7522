"""Reads a backup as a stream of files: restic dumps a tar archive, and this module unpacks or repacks the archive. The
whole copy of each database takes the place of the database file.
The agent can write anything into its own backup repository, so the archive is not trusted. The reader refuses names
that lead outside of the data directory and archives that are too large, and leaves out pipes and devices.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

# The directory that this service keeps in an agent's data directory. No engine has a directory of this name.
OWN = ".agentpods"
# Whole copies of databases. Each copy has the path of its database below this directory.
COPIES = f"{OWN}/databases"
# What the engine had learned when the backup was made. The bridge writes this file.
MEMORY = f"{OWN}/memory.json"
# The names that a restore uses in `.agentpods` (agents/pod/bridge/data_swap.py).
STATES = ("incoming", "ready-*", "former*", "discarded*", "gone", "restored*")
MOST_MEMBERS = 2_000_000
_NAME_BYTES = 3_000  # leaves room for the path of the target directory


class InvalidArchive(Exception):
    """The archive is not a valid backup of an agent's data. The message is shown to people."""


def members(stream: IO[bytes]) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yield each directory, file and link with its name below the data directory. Read a file's content before you ask
    for the next entry; later it cannot be read.
    Pipes and devices are left out. Raises Refused for a name that leads outside, TarError for a broken archive.
    """
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, member in enumerate(archive):
            archive.members = []  # type: ignore[attr-defined]  # a documented attribute; without this the library keeps every entry in memory, and there may be millions
            if count > MOST_MEMBERS:
                raise InvalidArchive(f"it holds more than {MOST_MEMBERS} files")
            name = place_of(member.name)
            if name is None or not (member.isdir() or member.isreg() or member.issym()):
                continue
            yield _plain(member, name), archive.extractfile(member) if member.isreg() else None


def place_of(name: str) -> str | None:
    """The path of this entry below the data directory; None for the service's own files. Raises Refused."""
    name = name.rstrip("/").removeprefix("./")
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts or "" in parts or "\0" in name:
        raise InvalidArchive(f"it names a place outside: {name[:100]!r}")
    if len(os.fsencode(name)) > _NAME_BYTES:
        raise InvalidArchive("a name in it is too long")
    if name.startswith(f"{COPIES}/"):
        name = name.removeprefix(f"{COPIES}/")
    return None if name == OWN or name.startswith(f"{OWN}/") else name


def _plain(member: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    """A copy of the entry without owner and without special permission bits such as setuid."""
    plain = tarfile.TarInfo(name)
    plain.type, plain.size, plain.mtime = member.type, member.size if member.isreg() else 0, int(member.mtime)
    plain.mode = (member.mode & 0o777) | (0o700 if member.isdir() else 0o600)
    plain.linkname = member.linkname if member.issym() else ""
    return plain


# Called for each written file with its name and the SHA-256 of its content in the archive.
Written = Callable[[str, str], None]


def unpack(stream: IO[bytes], into: Path, *, most_bytes: int, written: Written | None = None) -> int:
    """Unpack all entries into this empty directory and return the number of bytes. Nothing else may write to the
    directory.
    Links are created last, so that no file is written through a link. Raises Refused, OSError.
    """
    try:
        return _unpack(stream, into, most_bytes, written)
    except tarfile.TarError as error:
        raise InvalidArchive(f"it is broken ({error})") from error


def _unpack(stream: IO[bytes], into: Path, most_bytes: int, written: Written | None) -> int:
    links: list[tuple[str, str]] = []
    total = 0
    for member, content in members(stream):
        target = into / member.name
        if member.issym():
            links.append((member.name, member.linkname))
        elif member.isdir():
            target.mkdir(mode=member.mode, parents=True, exist_ok=True)
        elif content is not None:
            total += member.size
            if total > most_bytes:
                raise InvalidArchive(f"it holds more than the {most_bytes} bytes that the agent's disk has")
            digest = hashlib.sha256() if written else None
            _write(target, member, content, digest)
            if written and digest:
                written(member.name, digest.hexdigest())
    for name, destination in links:
        (into / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (into / name).symlink_to(destination)
    return total


def _write(target: Path, member: tarfile.TarInfo, content: IO[bytes], digest: hashlib._Hash | None) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(target, flags, member.mode), "wb") as file:
        while piece := content.read(1024 * 1024):
            file.write(piece)
            if digest:
                digest.update(piece)
    os.utime(target, (member.mtime, member.mtime))


def repack(stream: IO[bytes], to: IO[bytes]) -> None:
    """Write the same entries as a plain tar.gz. Raises Refused; the caller must then leave the output incomplete."""
    with (
        gzip.GzipFile(fileobj=to, mode="wb", compresslevel=1, mtime=0) as packing,
        tarfile.open(fileobj=packing, mode="w|", format=tarfile.PAX_FORMAT) as packed,
    ):
        for member, content in members(stream):
            packed.addfile(member, content)
            packed.members = []  # type: ignore[attr-defined]  # for the same reason as in `members`
