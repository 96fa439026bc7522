"""Removes a whole directory, even if an agent made it very deep or removed its own permissions."""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def remove(directory: Path) -> None:
    """Remove the directory. A missing directory is fine. Links are never followed. If a removal is interrupted, the
    next call continues it.
    """
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        return
    except (PermissionError, RecursionError):
        directory.chmod(stat.S_IRWXU)
        with _opened(directory) as top:
            _empty(top)
        directory.rmdir()


def _empty(top: int) -> None:
    """Move every directory to the top before it is emptied. So no path becomes long, and no recursion is needed."""
    prefix = f"removed-{secrets.token_hex(8)}-"
    names = (f"{prefix}{number}" for number in itertools.count())
    waiting = _take_out(top, top, names, prefix)
    while waiting:
        name = waiting.pop()
        with _opened(name, within=top) as directory:
            waiting += _take_out(directory, top, names, prefix)
        os.rmdir(name, dir_fd=top)


def _take_out(directory: int, top: int, names: Iterator[str], prefix: str) -> list[str]:
    """Delete the files and move the directories to the top. Returns the new names of the directories."""
    moved = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=directory)
            elif not entry.name.startswith(prefix):
                os.chmod(entry.name, stat.S_IRWXU, dir_fd=directory)
                moved.append(next(names))
                os.rename(entry.name, moved[-1], src_dir_fd=directory, dst_dir_fd=top)
    return moved


@contextmanager
def _opened(path: Path | str, *, within: int | None = None) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
