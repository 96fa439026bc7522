"""Which programs that tests start are measured for coverage: it nearly doubles what the start of one costs.

The gate wants every line to be run by somebody, and each is run by many. So programs of what repeats are not measured:
of the later cases of a test that has many, of what is generated, and of tests marked `unmeasured`. What runs in the
test processes themselves is always measured, as that costs little (tests/measuring.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_TOLD = "COVERAGE_PROCESS_"  # by which coverage measures a process that is started
CASES = 5  # of each parameter, that are measured


def unmeasured() -> dict[str, str]:
    """This process's environment, for a program that runs what other tests measure."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_TOLD)}


def is_on() -> bool:
    """Whether a program that is started now would be measured."""
    return any(name.startswith(_TOLD) for name in os.environ)


def repeats(test: pytest.Item) -> bool:
    """Whether it does at length what other tests, or earlier cases of its own, are measured with."""
    if test.get_closest_marker("unmeasured"):
        return True
    cases = getattr(test, "callspec", None)
    is_later = cases is not None and any(index >= CASES for index in cases.indices.values())
    is_generated = test.get_closest_marker("hypothesis") is not None
    return is_later or is_generated


@contextmanager
def told_nothing() -> Iterator[None]:
    """Programs that are started meanwhile are not measured."""
    told = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_TOLD)}
    try:
        yield
    finally:
        os.environ.update(told)
