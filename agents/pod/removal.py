"""Taking a directory away whole, however deep an agent made it and whatever rights it took from itself."""

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
    """What is gone succeeds; links are never followed; a removal that was cut short goes on at the next call."""
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
    """Every directory is moved to the top before its own turn, so no path is long and nothing calls itself."""
    prefix = f"removed-{secrets.token_hex(8)}-"
    names = (f"{prefix}{number}" for number in itertools.count())
    waiting = _take_out(top, top, names, prefix)
    while waiting:
        name = waiting.pop()
        with _opened(name, within=top) as directory:
            waiting += _take_out(directory, top, names, prefix)
        os.rmdir(name, dir_fd=top)


def _take_out(directory: int, top: int, names: Iterator[str], prefix: str) -> list[str]:
    """Unlink the files and move the directories; returns what these are called at the top."""
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
