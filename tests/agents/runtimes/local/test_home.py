"""A pod whose record was written by another version of the service."""

from __future__ import annotations

import json

import pytest

from agents.pod import processes
from agents.runtimes.base import Phase
from agents.runtimes.local import LocalRuntime
from tests.agents.runtimes import turn_calls
from tests.agents.runtimes.conftest import ACCESS, NAMESPACE, pod_spec, wait_for


@pytest.fixture
def of_another_version(local: LocalRuntime) -> LocalRuntime:
    """The pod runs, but its record has other fields."""
    local.deploy(pod_spec())
    wait_for(local, Phase.READY)
    path = local.home.run_dir(NAMESPACE) / "pod.json"
    record = json.loads(path.read_text())
    del record["side_port"]
    path.write_text(json.dumps(record))
    return local


@pytest.mark.sampled
def test_it_is_stopped(of_another_version: LocalRuntime) -> None:
    of_another_version.stop(NAMESPACE)
    wait_for(of_another_version, Phase.STOPPED)
    assert processes.marked(NAMESPACE, of_another_version.home.root) == []


@pytest.mark.sampled
def test_it_is_replaced_by_one_that_is_found(of_another_version: LocalRuntime) -> None:
    of_another_version.deploy(pod_spec())
    wait_for(of_another_version, Phase.READY)
    endpoint = of_another_version.endpoint(NAMESPACE)
    assert endpoint
    assert turn_calls.chat(endpoint, ACCESS, message="say x", session_id="s1").reply == "x"
