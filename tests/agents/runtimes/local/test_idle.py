"""A pod that nobody talks to hardly wakes up."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from agents.pod.bridge import log_buffer, supervisor
from agents.pod.gateway import listeners, logs
from agents.runtimes.local import LocalRuntime, driver, observing
from agents.runtimes.local.programs import PodProgram
from tests.agents.runtimes.local.conftest import program

WATCHED_SECONDS = 6.0
# Reports every 3 s, and the bridge's probes of its engine; each may also wait once or twice for the disk.
MOST_WAKE_UPS = {PodProgram.GATEWAY: 1.3, PodProgram.BRIDGE: 2.0}


def wake_ups(pid: int) -> int:
    """How often the threads of this process have waited for something."""
    threads = [(path / "status").read_text() for path in Path(f"/proc/{pid}/task").iterdir()]
    return sum(int(count) for text in threads for count in re.findall(r"\nvoluntary_ctxt_switches:\s*(\d+)", text))


@pytest.mark.sampled
def test_programs_that_nobody_needs_wake_up_about_once_a_second(ready: LocalRuntime, home: Path) -> None:
    """A slow machine makes them wake up less often, never more."""
    pids = {name: program(home, name).pid for name in PodProgram}
    time.sleep(1.0)  # they have just started
    before, begun = {name: wake_ups(pid) for name, pid in pids.items()}, time.monotonic()
    time.sleep(WATCHED_SECONDS)
    lasted = time.monotonic() - begun
    rates = {name: (wake_ups(pid) - before[name]) / lasted for name, pid in pids.items()}
    assert all(rates[name] <= most for name, most in MOST_WAKE_UPS.items()), rates


def test_one_late_sign_of_life_is_not_taken_for_silence() -> None:
    assert max(listeners.REPORT_SECONDS, supervisor.CALM_SECONDS) * 3 <= observing.STALE_SECONDS
    assert max(listeners.REPORT_SECONDS, supervisor.CALM_SECONDS) < driver.REPORT_SECONDS < driver.HUNG_SECONDS
    assert log_buffer.BEAT_SECONDS * 3 <= logs.SILENCE_SECONDS
