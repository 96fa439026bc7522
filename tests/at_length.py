"""`make test` runs a sample of the generated tests; `make test-slow` runs all of them."""

from __future__ import annotations

import os

IS_ON = "AT_LENGTH" in os.environ
SAMPLE = 3  # one of this many is run


def examples(at_length: int) -> int:
    """How many examples hypothesis makes in this run."""
    return at_length if IS_ON else -(-at_length // SAMPLE)
