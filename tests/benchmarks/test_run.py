"""`python -m benchmarks`: real databases, real servers, and a table at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_benchmark_that_does_not_exist_is_named_with_those_that_do() -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "benchmarks", "G99"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "G99" in refused.stderr
    assert "G4" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["G4", "G7"])
def test_a_benchmark_ends_with_its_figures_whatever_they_are(name: str) -> None:
    """This test does not check the speed, only that the benchmark and its comparison still run."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert name in done.stdout, done.stderr
    assert "the benchmark itself failed" not in done.stdout, done.stderr
