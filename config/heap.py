"""What a program has loaded when it begins to serve stays for good: the collector need not walk over it again."""

from __future__ import annotations

import gc


def settle() -> None:
    """Called once, at the end of a program's start: a full collection holds up every thread, and is now short."""
    gc.collect()
    gc.freeze()
