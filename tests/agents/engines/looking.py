"""Looks into the memory of a live process, as whoever owns the machine can."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

CHUNK_BYTES = 16 * 1024 * 1024


def found_in_memory(pid: int, wanted: Iterable[bytes]) -> set[bytes]:
    """Which of these are in what the process has written to; as bytes, and as JavaScript's wide characters."""
    forms = {form: one for one in wanted for form in (one, one.decode().encode("utf-16-le"))}
    longest = max(map(len, forms))
    found: set[bytes] = set()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for begin, end in _written(pid):
            for at in range(begin, end, CHUNK_BYTES):
                try:
                    memory.seek(at)
                    seen = memory.read(min(CHUNK_BYTES + longest, end - at))
                except (OSError, OverflowError, ValueError):
                    break  # of the kernel, or given back meanwhile
                found |= {one for form, one in forms.items() if form in seen}
    return found


def _written(pid: int) -> Iterable[tuple[int, int]]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, rights, *_ = line.split()
        if rights.startswith("rw"):
            begin, _, end = place.partition("-")
            yield int(begin, 16), int(end, 16)
