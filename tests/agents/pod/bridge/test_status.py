"""What the bridge reports about its engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.pod.bridge.log import KEPT_LINES, EngineLog
from agents.pod.bridge.status import StatusFile
from agents.runtimes.base import Phase

FULL = "ENOSPC: no space left on device, write"


@pytest.mark.parametrize("since", [0, KEPT_LINES])
def test_a_trouble_is_its_own_evidence_whatever_the_engine_has_said_since(tmp_path: Path, since: int) -> None:
    log = EngineLog()
    status = StatusFile(tmp_path / "state.json", engine_log=log, engine_pid=lambda: None)
    status.show(Phase.READY)
    log.note(FULL)
    status.trouble("DISK_FULL", f"the engine cannot write: {FULL}")
    for number in range(since):
        log.note(f"line {number}")
    evidence = status.body()["evidence"]
    assert [line for line in evidence if FULL in line] == evidence[:1]
