"""What is measured for coverage, and what is not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import coverage
import pytest
import requests

from tests import measured
from tests.doubles.models_list import ModelsList

ROOT = Path(__file__).resolve().parents[1]


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


def test_a_process_that_is_measured_writes_of_the_files_that_it_ran_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as told:
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS_")]:
            told.delenv(name)
        recorder = coverage.Coverage(data_file=str(tmp_path / "data"), data_suffix=True, source=["status", "webhooks"])
        told.setenv("COVERAGE_PROCESS_CONFIG", recorder.config.serialize())
        measured.light_processes()
        subprocess.run([sys.executable, "-c", "import status.apps"], cwd=ROOT, check=True)
    (written,) = tmp_path.iterdir()
    data = coverage.CoverageData(str(written))
    data.read()
    assert {Path(name).relative_to(ROOT).as_posix() for name in data.measured_files()} == {
        "status/__init__.py",
        "status/apps.py",
    }


def test_what_is_untraced_is_traced_again_afterwards() -> None:
    before = sys.gettrace()
    with measured.untraced():
        assert sys.gettrace() is None
    assert sys.gettrace() is before
