"""Decides which programs started by tests are measured for coverage: measuring nearly doubles the time of their start.

The coverage check needs each line to run in some measured process, and many tests run the same line. So programs in
repeating tests are not measured: later cases of a parametrised test, generated tests, and tests marked `unmeasured`.
Code in the test processes themselves is always measured, because that costs little (tests/coverage_plugin.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_TOLD = "COVERAGE_PROCESS_"  # coverage.py measures a started program because of this variable
CASES = 5  # this many values of each parameter are measured


def unmeasured() -> dict[str, str]:
    """The environment of this process without coverage, for a program whose code other tests measure."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_TOLD)}


def is_on() -> bool:
    """Whether a program that is started now would be measured."""
    return any(name.startswith(_TOLD) for name in os.environ)


def repeats(test: pytest.Item) -> bool:
    """Whether other tests, or earlier cases of this test, already measure the same code."""
    if test.get_closest_marker("unmeasured"):
        return True
    cases = getattr(test, "callspec", None)
    is_later = cases is not None and any(index >= CASES for index in cases.indices.values())
    is_generated = test.get_closest_marker("hypothesis") is not None
    return is_later or is_generated


@contextmanager
def told_nothing() -> Iterator[None]:
    """Do not measure programs that are started within this block."""
    told = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_TOLD)}
    try:
        yield
    finally:
        os.environ.update(told)
