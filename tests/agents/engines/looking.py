"""Looks into the memory of a live process, as whoever owns the machine can."""

from __future__ import annotations

import io
import resource
from collections.abc import Iterable
from pathlib import Path

CHUNK_BYTES = 256 * 1024
PAGE_BYTES = resource.getpagesize()


def found_in_memory(pid: int, wanted: Iterable[bytes]) -> set[bytes]:
    """Which of these are in what the process has written to; as bytes, and as JavaScript's wide characters."""
    forms = {form: one for one in wanted for form in (one, one.decode().encode("utf-16-le"))}
    longest = max(map(len, forms))
    found: set[bytes] = set()
    with _opened(pid, "mem") as memory, _opened(pid, "pagemap") as pages:
        for begin, end in _written(pid):
            for at in range(begin, end, CHUNK_BYTES):
                size = min(CHUNK_BYTES, end - at)
                if not _is_there(pages, at, size):
                    continue  # some reserve gigabytes, and use a few pages of them
                try:
                    memory.seek(at)
                    seen = memory.read(min(size + longest, end - at))
                except (OSError, OverflowError, ValueError):
                    break  # of the kernel, or given back meanwhile
                found |= {one for form, one in forms.items() if form in seen}
    return found


def _opened(pid: int, name: str) -> io.FileIO:
    return io.FileIO(f"/proc/{pid}/{name}")


def _is_there(pages: io.FileIO, at: int, size: int) -> bool:
    """Whether any page of it is in memory or swapped out: the two highest bits of its eight bytes."""
    pages.seek(at // PAGE_BYTES * 8)
    return max(pages.read(size // PAGE_BYTES * 8)[7::8], default=0) >= 0x40


def _written(pid: int) -> Iterable[tuple[int, int]]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights, *_ = line.split()
        if rights.startswith("rw"):
            begin, _, end = place.partition("-")
            yield int(begin, 16), int(end, 16)
