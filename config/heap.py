"""What a program has loaded when it begins to serve stays for good: the collector need not walk over it again."""

from __future__ import annotations

import gc


def settle() -> None:
    """Called when a program's start has ended: a full collection holds up every thread, and is now short."""
    gc.collect()
    gc.freeze()
