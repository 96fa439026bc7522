"""A program that `launch` started ends with its parent, and runs as the user that `launch` was told."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from tests.config.conftest import ROOT
from tests.coverage_scope import unmeasured
from tests.patience import Patience

pytestmark = pytest.mark.unmeasured

LAUNCH = [sys.executable, "-m", "config.run.launch"]
# A parent that runs the given command, prints its pid and waits to be killed.
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


def test_a_program_that_is_not_ours_is_told_no_secret_and_no_setting() -> None:
    given = {
        **unmeasured(),
        "SECRET_KEY": "s3cret",
        "DATABASE_URL": "postgresql://u:s3cret@db/x",
        "PGOPTIONS": "-c a=b",
    }
    words = [*LAUNCH, "--clean", "/usr/bin/env"]
    told = subprocess.run(words, cwd=ROOT, env={**given, "LANG": "C"}, capture_output=True, text=True, check=True)
    names = {line.partition("=")[0] for line in told.stdout.splitlines()}
    assert {"PATH", "LANG"} <= names
    assert names <= {"PATH", "LANG", "LC_ALL", "TZ", "TZDIR", "TMPDIR", "LD_LIBRARY_PATH", "AGENTPODS_HOME"}


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
    patience = Patience(20)
    while not true():  # type: ignore[operator]  # one of the lambdas above
        assert not patience.ended()
        time.sleep(0.02)
