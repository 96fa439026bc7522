"""New files that only their owner reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write. It gets its name at the end of the block, if that ends well. Raises FileExistsError."""
    if path.exists():
        raise FileExistsError(f"{path}: is there already")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
        os.link(part, path)  # fails where another program made the file meanwhile
    finally:
        part.unlink(missing_ok=True)
