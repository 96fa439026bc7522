"""`make test` tries a sample of what is generated; `make test-slow` tries it at length."""

from __future__ import annotations

import os

IS_ON = "AT_LENGTH" in os.environ
SAMPLE = 3  # of so many, one is tried


def examples(at_length: int) -> int:
    """How many of them hypothesis makes in this run."""
    return at_length if IS_ON else -(-at_length // SAMPLE)
