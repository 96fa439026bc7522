"""A backup as a stream of files: what restic dumps, with each database's whole copy in the place of the database.

A repository may hold anything that its agent wrote there. What names a place outside, is no file, or never ends, is
refused by whoever unpacks it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

# Ours in an agent's data directory; no engine has a directory of this name.
OWN = ".agentpods"
# Whole copies of databases, each below its own path.
COPIES = f"{OWN}/databases"
# What the engine had learned when the backup was made, as the bridge tells it.
MEMORY = f"{OWN}/memory.json"
# What a restore keeps there (agents/pod/bridge/exchange.py).
STATES = ("incoming", "ready-*", "former*", "discarded*", "gone", "restored*")
MOST_MEMBERS = 2_000_000
_NAME_BYTES = 3_000  # room for the directory that it is put into


class Refused(Exception):
    """This is no backup of an agent's data. The message is for people."""


def members(stream: IO[bytes]) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Each directory, file and link by its name below the data directory; a file's content is read at once or never.

    Raises Refused for a name that leads elsewhere, TarError for what breaks off. Pipes and devices are left out.
    """
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, member in enumerate(archive):
            archive.members = []  # type: ignore[attr-defined]  # a documented attribute; else the library remembers each, and there may be millions
            if count > MOST_MEMBERS:
                raise Refused(f"it holds more than {MOST_MEMBERS} files")
            name = place_of(member.name)
            if name is None or not (member.isdir() or member.isreg() or member.issym()):
                continue
            yield _plain(member, name), archive.extractfile(member) if member.isreg() else None


def place_of(name: str) -> str | None:
    """Where it belongs; None for what is ours. Raises Refused."""
    name = name.rstrip("/").removeprefix("./")
    parts = name.split("/")
    if not name or name.startswith("/") or ".." in parts or "" in parts or "\0" in name:
        raise Refused(f"it names a place outside: {name[:100]!r}")
    if len(os.fsencode(name)) > _NAME_BYTES:
        raise Refused("a name in it is too long")
    if name.startswith(f"{COPIES}/"):
        name = name.removeprefix(f"{COPIES}/")
    return None if name == OWN or name.startswith(f"{OWN}/") else name


def _plain(member: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    """Without owners, and without rights that others or the kernel would give it."""
    plain = tarfile.TarInfo(name)
    plain.type, plain.size, plain.mtime = member.type, member.size if member.isreg() else 0, int(member.mtime)
    plain.mode = (member.mode & 0o777) | (0o700 if member.isdir() else 0o600)
    plain.linkname = member.linkname if member.issym() else ""
    return plain


# Hears of each file that was written: its name, and the SHA-256 of what the archive gave for it.
Written = Callable[[str, str], None]


def unpack(stream: IO[bytes], into: Path, *, most_bytes: int, written: Written | None = None) -> int:
    """Everything below this empty directory, which nobody else writes to; how many bytes that is.

    Links come last, so that nothing is written through one. Raises Refused, OSError.
    """
    try:
        return _unpack(stream, into, most_bytes, written)
    except tarfile.TarError as error:
        raise Refused(f"it is broken ({error})") from error


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
                raise Refused(f"it holds more than the {most_bytes} bytes that the agent's disk has")
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
    """The same as a tar.gz that any tar opens. Raises Refused; the caller then leaves it without its end."""
    with (
        gzip.GzipFile(fileobj=to, mode="wb", compresslevel=1, mtime=0) as packing,
        tarfile.open(fileobj=packing, mode="w|", format=tarfile.PAX_FORMAT) as packed,
    ):
        for member, content in members(stream):
            packed.addfile(member, content)
            packed.members = []  # type: ignore[attr-defined]  # as above
