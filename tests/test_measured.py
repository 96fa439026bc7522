"""What is measured for coverage, and what is not."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
import requests

from tests import measured
from tests.doubles.models_list import ModelsList


@pytest.fixture
def begun() -> Iterator[list[str]]:
    """The names of threads that are measured."""
    names: list[str] = []

    def measure(frame: FrameType, event: Any, argument: Any) -> None:
        names.append(threading.current_thread().name)
        sys.settrace(None)

    before = threading.gettrace()
    threading.settrace(measure)
    yield names
    threading.settrace(before)


def test_a_thread_is_measured_and_those_of_a_double_are_not(begun: list[str]) -> None:
    measured.not_doubles()
    with ModelsList() as double:
        requests.get(double.url, timeout=10)
    ours = threading.Thread(target=list, name="ours")
    ours.start()
    ours.join()
    assert begun == ["ours"]


def test_what_is_untraced_is_traced_again_afterwards() -> None:
    before = sys.gettrace()
    with measured.untraced():
        assert sys.gettrace() is None
    assert sys.gettrace() is before
