"""A running pod of the local runtime, and its programs."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from agents.runtimes.base import Phase
from agents.runtimes.local import LocalRuntime, programs
from agents.runtimes.local.programs import PodProgram
from tests.agents.runtimes import turn_calls
from tests.agents.runtimes.conftest import ACCESS, NAMESPACE, pod_spec, wait_for


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return (tmp_path / "home").resolve()


@pytest.fixture
def ready(local: LocalRuntime) -> LocalRuntime:
    local.deploy(pod_spec())
    wait_for(local, Phase.READY)
    return local


def program(home: Path, name: PodProgram) -> psutil.Process:
    return programs.find(home)[NAMESPACE, name]


def say(runtime: LocalRuntime, message: str) -> str:
    endpoint = runtime.endpoint(NAMESPACE)
    assert endpoint
    return turn_calls.chat(endpoint, ACCESS, message=message, session_id="s1").reply
