"""The numbers that the bridge reads from the kernel."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agents.pod.bridge import linux
from tests.agents.pod.bridge.process import eventually

pytestmark = pytest.mark.unmeasured


def test_time_without_a_cpu_is_told_from_silence() -> None:
    """Two processes that need the same CPU wait for each other. A process that sleeps does not wait for a CPU."""
    cpu = min(os.sched_getaffinity(0))
    spin = f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(2)]
    idle = subprocess.Popen(["sleep", "60"])
    try:
        eventually(lambda: min(linux.time_waited(one.pid) for one in busy) > 0.5, what="the wait")
        assert linux.time_waited(idle.pid) < min(linux.time_waited(one.pid) for one in busy)
    finally:
        for process in (*busy, idle):
            process.kill()
            process.wait()


def test_of_a_process_that_is_gone_no_wait_is_known() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert linux.time_waited(ended.pid) == 0.0
