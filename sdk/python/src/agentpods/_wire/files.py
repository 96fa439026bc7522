"""New files that only their owner reads."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write. It gets its name at the end of the block, if that ends well. Raises FileExistsError."""
    if path.exists():
        raise FileExistsError(f"{path}: is there already")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    opened = _made(part)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
        _name(part, path)
    finally:
        part.unlink(missing_ok=True)


def _made(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _name(part: Path, path: Path) -> None:
    """Give the file its name, unless another program took it meanwhile."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # there are no hard links on this drive
        os.close(_made(path))
        part.replace(path)
