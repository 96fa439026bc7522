from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.config.serving.front import FrontProcess


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontProcess]:
    started = FrontProcess(tmp_path_factory.mktemp("front") / "log")
    try:
        started.wait()
        yield started
    finally:
        os.killpg(started.process.pid, signal.SIGKILL)
        started.process.wait(10)
