"""A program that `launch` started ends with its parent, under the user that it was told."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from tests.config.conftest import ROOT

LAUNCH = [sys.executable, "-m", "config.run.launch"]
# A parent that starts LAUNCH's words, tells the pid and waits for its own end.
PARENT = "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:]).pid, flush=True); time.sleep(60)"


@pytest.mark.parametrize("end_signal", ["TERM", "KILL"])
def test_a_program_ends_when_its_parent_is_killed(end_signal: str) -> None:
    command = [*LAUNCH, "--end-signal", end_signal, "sleep", "60"]
    with subprocess.Popen([sys.executable, "-c", PARENT, *command], stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout
        program = psutil.Process(int(parent.stdout.readline()))
        _wait(lambda: program.name() == "sleep")
        parent.kill()
        _wait(lambda: not program.is_running())


def test_a_program_whose_parent_is_gone_already_does_not_start() -> None:
    refused = subprocess.run(
        [*LAUNCH, "--parent", "1", "echo", "started"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert "started" not in refused.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_gives_up_all_its_rights() -> None:
    status = ["cat", "/proc/self/status"]
    told = subprocess.run(
        [*LAUNCH, "--user", "nobody", *status], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    facts = dict(line.split(":\t", 1) for line in told.splitlines() if ":\t" in line)
    assert "0" not in facts["Uid"].split() + facts["Gid"].split()
    assert facts["Groups"].strip() == ""
    assert set(facts["CapEff"].strip()) == {"0"}


def _wait(true: object) -> None:
    deadline = time.monotonic() + 20
    while not true():  # type: ignore[operator]  # one of the lambdas above
        assert time.monotonic() < deadline
        time.sleep(0.02)
