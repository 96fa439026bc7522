"""What of the tests is measured for coverage: to measure nearly doubles what a test, or the start of a process, costs.

The gate wants every line to be run by somebody, and each is run by many. So what repeats is not measured: the later
cases of a test that has many, what is generated, tests marked `unmeasured`, and how fixtures make and take away what
tests begin with. Nor is what has no line of ours: the servers in tests/doubles.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_TOLD = "COVERAGE_PROCESS_"  # by which coverage measures a process that is started
_CONFIG = "COVERAGE_PROCESS_CONFIG"  # its configuration, as coverage writes it (CoverageConfig.serialize)
_ROOT = Path(__file__).resolve().parents[1]
DOUBLES = "tests.doubles."
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


def light_processes() -> None:
    """Processes that are started from now on do not list every file of ours when they end: this one does that.

    It was most of what a process cost that was measured. Does nothing where nothing is measured.
    """
    if _CONFIG not in os.environ:
        return
    told = json.loads(base64.b64decode(os.environ[_CONFIG]))
    if told["source"]:
        told["run_include"], told["source"] = [str(_ROOT / package / "*") for package in told["source"]], None
        os.environ[_CONFIG] = base64.b64encode(json.dumps(told).encode()).decode()


def not_doubles() -> None:
    """Threads that doubles start from now on are not measured, and so go as fast as without coverage."""
    measure = threading.gettrace()
    if measure is None:
        return

    def measure_unless_a_double(frame: FrameType, event: Any, argument: Any) -> Any:
        if not _is_of_a_double(threading.current_thread()):
            return measure(frame, event, argument)
        sys.settrace(None)
        return None

    threading.settrace(measure_unless_a_double)


def _is_of_a_double(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    owner = getattr(target, "__self__", None)
    asked = getattr(owner, "RequestHandlerClass", None)  # by a server of the standard library
    modules = (type(thread).__module__, getattr(target, "__module__", ""), type(owner).__module__)
    return any(module.startswith(DOUBLES) for module in (*modules, getattr(asked, "__module__", "")))


@contextmanager
def untraced() -> Iterator[None]:
    """Do not measure this thread. Threads and processes that it starts are measured as ever."""
    here = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(here)


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
    started = threading.gettrace()
    threading.settrace(None)
    try:
        with untraced(), told_nothing():
            yield
    finally:
        threading.settrace(started)
