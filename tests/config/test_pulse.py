"""A program's sign of life: a file that it touches again and again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from config import pulse
from tests.patience import wait_until
from tests.workers import Workers

pytestmark = pytest.mark.unmeasured


@pytest.mark.sampled
def test_a_worker_touches_its_file_as_long_as_it_takes_tasks(celery: Workers, tmp_path: Path) -> None:
    file = tmp_path / "pulse"
    celery.start("default", environment={"PULSE_FILE": str(file)})
    is_touched_again_and_again(file)


@pytest.mark.sampled
def test_beat_touches_its_file_as_long_as_it_sends_tasks(celery: Workers, tmp_path: Path) -> None:
    """Beat's own file may stay in memory until beat ends, so it is no sign of life."""
    file = tmp_path / "pulse"
    celery.beat(environment={"PULSE_FILE": str(file)})
    is_touched_again_and_again(file)


def is_touched_again_and_again(file: Path) -> None:
    wait_until(file.exists, seconds=2 * pulse.SECONDS)
    os.utime(file, (0, 0))
    wait_until(lambda: file.stat().st_mtime > 0, seconds=2 * pulse.SECONDS)
