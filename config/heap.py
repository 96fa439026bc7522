"""Objects that a program loads at its start live until its end, so the garbage collector can skip them."""

from __future__ import annotations

import gc


def settle() -> None:
    """Call this at the end of a program's start. Later full collections, which stop every thread, are then short."""
    gc.collect()
    gc.freeze()
