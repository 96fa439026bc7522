"""Looks into the memory of a running process, as the owner of the machine can."""

from __future__ import annotations

import io
import re
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path

CHUNK_BYTES = 16 * 1024 * 1024
PAGE_BYTES = resource.getpagesize()


def found_in_memory(pid: int, wanted: Iterable[bytes]) -> set[bytes]:
    """Which of these byte strings are in memory that the process has written. Finds JavaScript's UTF-16 text too."""
    forms = {form: one for one in wanted for form in (one, one.decode().encode("utf-16-le"))}
    longest = max(map(len, forms))
    found: set[bytes] = set()
    with _opened(pid, "mem") as memory, _opened(pid, "pagemap") as pages:
        for begin, end in _written(pid):
            for first, last in _used(pages, begin, end):
                try:
                    memory.seek(first)
                    seen = memory.read(min(last + longest, end) - first)
                except (OSError, OverflowError, ValueError):
                    break  # memory of the kernel, or released in the meantime
                found |= {one for form, one in forms.items() if form in seen}
    return found


def _opened(pid: int, name: str) -> io.FileIO:
    return io.FileIO(f"/proc/{pid}/{name}")


def _used(pages: io.FileIO, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of pages that are in memory or swapped out, as the two highest bits of their eight bytes say. Some
    engines reserve gigabytes and use only a few pages of them. Reading the other pages would bring them into use.
    """
    for at in range(begin, end, CHUNK_BYTES):
        pages.seek(at // PAGE_BYTES * 8)
        flags = pages.read(min(CHUNK_BYTES, end - at) // PAGE_BYTES * 8)[7::8]
        for run in re.finditer(rb"[\x40-\xff]+", flags):
            yield at + run.start() * PAGE_BYTES, at + run.end() * PAGE_BYTES


def _written(pid: int) -> Iterable[tuple[int, int]]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights, *_ = line.split()
        if rights.startswith("rw"):
            begin, _, end = place.partition("-")
            yield int(begin, 16), int(end, 16)
