"""What of the tests is measured for coverage: to measure nearly doubles what a test, or the start of a process, costs.

The gate wants every line to be run by somebody, and each is run by many. So what repeats is not measured: the later
cases of a test that has many, what is generated, and tests marked `unmeasured`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_TOLD = "COVERAGE_PROCESS_"  # by which coverage measures a process that is started
CASES = 5  # of each parameter, that are measured


def unmeasured() -> dict[str, str]:
    """This process's environment, for one that runs what other tests measure."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_TOLD)}


def is_on() -> bool:
    """Whether a process that is started now would be measured."""
    return any(name.startswith(_TOLD) for name in os.environ)


def begin() -> None:
    """Measure this process from here on, if its environment says so: a copy of one that is not measured."""
    if is_on():
        import coverage

        coverage.process_startup(force=True)  # it writes what it saw when the process ends


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
    """Processes that are started meanwhile are not measured."""
    told = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_TOLD)}
    try:
        yield
    finally:
        os.environ.update(told)


@contextmanager
def paused() -> Iterator[None]:
    """Measure neither this thread nor the threads and processes that it starts meanwhile."""
    here, started = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        with told_nothing():
            yield
    finally:
        sys.settrace(here)
        threading.settrace(started)
