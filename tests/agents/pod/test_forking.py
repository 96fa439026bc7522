"""Programs that are copied for tests are processes of their own, like programs that are started."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.agents.pod import forking
from tests.agents.pod.gateway.process import document
from tests.patience import Patience

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize("program", ["gateway", "bridge"])
def test_a_copy_reads_its_own_input_and_tells_its_exit_status(program: str, tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as out:
        copies = [forking.start(program, ENVIRONMENT, b"{}", out) for _ in range(2)]
    assert [copy.wait(20) for copy in copies] == [2, 2]
    assert (tmp_path / "log").read_text() == f"{program}: unusable start document (KeyError)\n" * 2


def test_a_copy_is_measured_where_its_environment_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COVERAGE_TO", str(tmp_path))
    monkeypatch.setattr(forking, "_parent", functools.cache(forking._parent.__wrapped__))
    told = {**ENVIRONMENT, "COVERAGE_TO": str(tmp_path)}
    with (tmp_path / "log").open("ab") as out:
        copies = [
            forking.start("gateway", {**told, **switch}, b"{}", out)
            for switch in ({}, {"COVERAGE_PROCESS_CONFIG": "on"})
        ]
    assert [copy.wait(20) for copy in copies] == [2, 2]
    (written,) = tmp_path.glob("copy-*.json")
    assert "agents/pod/start.py" in written.read_text()


def test_a_copy_has_a_session_of_its_own_and_dies_alone(tmp_path: Path) -> None:
    run_dirs = [tmp_path / name for name in ("first", "second")]
    with (tmp_path / "log").open("ab") as out:
        for run_dir in run_dirs:
            run_dir.mkdir()
        first, second = (
            forking.start("gateway", ENVIRONMENT, document({"run_dir": str(run_dir), "bridge_url": ""}).dump(), out)
            for run_dir in run_dirs
        )
    try:
        patience = Patience(20)
        while not all((run_dir / "gateway.json").exists() for run_dir in run_dirs):  # then both hear signals
            assert not patience.ended()
            time.sleep(0.05)
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0.1)
        assert os.getsid(first.pid) == first.pid != os.getsid(second.pid)
        first.kill()
        assert first.wait(20) == -signal.SIGKILL
        assert not psutil.pid_exists(first.pid)
        assert second.poll() is None
    finally:
        second.terminate()
    assert second.wait(20) == 0
