"""Gateways and bridges of a worker are copies of one process, and nobody else sees a difference."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import psutil
import pytest

from agents.pod import processes
from agents.runtimes.base import Phase
from agents.runtimes.local import LocalRuntime, programs, template
from agents.runtimes.local.programs import PodProgram
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import NAMESPACE, pod_spec, wait_for
from tests.agents.runtimes.local.conftest import program


def parent(home: Path, name: PodProgram) -> psutil.Process:
    found = program(home, name).parent()
    assert found
    return found


def test_a_pods_programs_share_the_memory_of_one_process_and_are_shown_as_if_they_had_been_started(
    ready: LocalRuntime, home: Path
) -> None:
    above = parent(home, PodProgram.GATEWAY)
    assert template.MODULE in above.cmdline()
    assert parent(home, PodProgram.BRIDGE) == above
    for name in PodProgram:
        one = program(home, name)
        assert [word for word in one.cmdline()[1:] if word] == [
            "-m", f"agents.pod.{name}", f"--namespace={NAMESPACE}", f"--home={home}"
        ]  # fmt: skip
        assert os.getsid(one.pid) == one.pid
        shown = processes.environment_of(one.pid)
        assert not shown or processes.marks(NAMESPACE, home, name).items() <= shown.items()
        assert "ROOM" not in shown


def test_the_first_pod_of_a_worker_that_has_warmed_up_is_a_copy_of_what_was_there_before(
    local: LocalRuntime, home: Path
) -> None:
    local.warm_up()
    (there,) = [one for one in psutil.Process().children() if template.MODULE in one.cmdline()]
    local.deploy(pod_spec())
    wait_for(local, Phase.READY)
    assert parent(home, PodProgram.GATEWAY) == there


def test_the_template_has_no_mark_of_a_pod_and_its_memory_is_closed_to_engines(ready: LocalRuntime, home: Path) -> None:
    above = parent(home, PodProgram.GATEWAY)
    assert not {processes.NAMESPACE, processes.HOME, processes.ROLE} & set(processes.environment_of(above.pid))
    # The kernel gives what is closed to the superuser.
    assert {Path(f"/proc/{above.pid}/{name}").stat().st_uid for name in ("mem", "environ")} == {0}
    assert re.search(r"^Max core file size\s+0 ", Path(f"/proc/{above.pid}/limits").read_text(), re.MULTILINE)


def test_pods_outlive_their_template_and_the_next_pod_gets_a_new_one(ready: LocalRuntime, home: Path) -> None:
    above = parent(home, PodProgram.BRIDGE)
    before = programs.find(home)
    above.kill()
    psutil.wait_procs([above], timeout=5)
    for namespace in ("pod-abd-1", "pod-abe-1"):
        ready.deploy(pod_spec(namespace, agent_id=f"agt_{namespace[4:7]}"))
        wait_for(ready, Phase.READY, namespace)
    found = programs.find(home)
    assert before.items() <= found.items()
    assert template.MODULE in (found["pod-abe-1", PodProgram.BRIDGE].parent() or above).cmdline()


def test_a_template_that_hangs_holds_up_no_pod(
    ready: LocalRuntime, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "COPY_SECONDS", 0.2)
    above = parent(home, PodProgram.BRIDGE)
    above.send_signal(signal.SIGSTOP)
    program(home, PodProgram.GATEWAY).kill()
    wait_for(ready, lambda pod: not pod.gateway_alive)
    ready.deploy(pod_spec())
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
    eventually(lambda: not psutil.pid_exists(above.pid), within=5, what="the end of the template")
    assert parent(home, PodProgram.GATEWAY).pid == os.getpid()


def test_a_home_with_a_long_path_has_pods_too(ready: LocalRuntime, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments of a copy do not fit in the place of the template's, so the program is started without it."""
    monkeypatch.setattr(template, "ROOM", "-")
    other = LocalRuntime(home=home, engine_cache=ready._engine_cache)
    for name in PodProgram:
        program(home, name).kill()
    wait_for(other, Phase.STOPPED)
    other.deploy(pod_spec())
    wait_for(other, Phase.READY)
    assert {parent(home, name).pid for name in PodProgram} == {os.getpid()}
