"""How each engine from a package registry is installed when it is used first."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine, ShippedProgram
from agents.pod import processes
from agents.pod.bridge import install
from agents.runtimes.base import Phase
from agents.runtimes.local.programs import PodProgram
from tests.agents.engines.conftest import TRIED, EnginePod
from tests.agents.pod.bridge.process import eventually

INSTALLED = [name for name in TRIED if not isinstance(ENGINES[name].package, ShippedProgram)]
pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", INSTALLED, indirect=True)]


def test_agents_that_start_at_once_on_a_fresh_machine_install_it_once(
    engine: Engine, pod: EnginePod, tmp_path: Path
) -> None:
    pod.runtime._engine_cache = tmp_path / "fresh"
    second = EnginePod(engine, pod.runtime, pod.model, pod.home)
    second.namespace = "pod-second-1"
    second.spec = dataclasses.replace(second.spec, namespace="pod-second-1", agent_id="agt_second")
    pod.runtime.deploy(pod.spec)
    second.runtime.deploy(second.spec)
    assert eventually(lambda: pod.seen().phase == Phase.INSTALLING, what="the installation")
    pod.wait_ready(within=600)
    second.wait_ready()
    assert install.is_installed(engine, install.directory(engine, tmp_path / "fresh"))
    leftovers = [entry.name for entry in (tmp_path / "fresh").iterdir() if ".new-" in entry.name]
    assert leftovers == []
    second.runtime.delete("pod-second-1", agent_id="agt_second", data=True)


def test_an_installation_cut_short_is_done_again(engine: Engine, pod: EnginePod, tmp_path: Path) -> None:
    pod.runtime._engine_cache = tmp_path / "fresh"
    pod.runtime.deploy(pod.spec)
    eventually(lambda: processes.marked(pod.namespace, pod.home, roles=[processes.INSTALL]), what="npm")
    pod.program(PodProgram.BRIDGE).kill()
    eventually(lambda: not processes.marked(pod.namespace, pod.home, roles=[processes.INSTALL]), what="npm's end")
    pod.runtime.deploy(pod.spec)
    pod.wait_ready(within=600)
    assert pod.say("hello") == "pong"
