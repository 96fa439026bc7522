"""Trouble that only the local runtime has: killed programs, killed workers, and workers at the same moment."""

from __future__ import annotations

import dataclasses
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agents.pod import processes
from agents.runtimes.base import Phase, RuntimeFailure
from agents.runtimes.local import LocalRuntime, programs
from agents.runtimes.local.programs import PodProgram
from tests.agents.pod.bridge.process import ROOT, eventually
from tests.agents.runtimes.conftest import (
    AGENT,
    MANAGEMENT_TOKEN,
    NAMESPACE,
    REAL_KEY,
    pod_spec,
    wait_for,
)
from tests.agents.runtimes.local.conftest import program, say

WORKER = """
import pickle, sys
from pathlib import Path
from agents.runtimes.local import LocalRuntime
home, cache, spec = pickle.load(sys.stdin.buffer)
print("up", flush=True)
sys.stdin.readline()
LocalRuntime(home=home, engine_cache=cache).deploy(spec)
"""


def of_this_home(home: Path) -> list[psutil.Process]:
    """Our programs and all processes with the mark of this home, of any pod."""
    marked = [
        process
        for process in psutil.process_iter()
        if processes.environment_of(process.pid).get(processes.HOME) == str(home) and processes.is_alive(process)
    ]
    return list({*programs.find(home).values(), *marked})


def visible(process: psutil.Process, name: str) -> bytes:
    """What other processes of the same user can read. They cannot read all of the programs that hold secrets."""
    try:
        return Path(f"/proc/{process.pid}/{name}").read_bytes()
    except PermissionError:
        return b""


def worker(home: Path, cache: Path) -> subprocess.Popen[bytes]:
    """A process that deploys as soon as it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(pickle.dumps((home, cache, pod_spec())))
    process.stdin.flush()
    assert process.stdout.readline() == b"up\n"
    return process


def let_go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.write(b"\n")
    process.stdin.flush()


def close(process: subprocess.Popen[bytes]) -> int:
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    process.stdout.close()
    return process.wait(30)


@pytest.mark.sampled
def test_a_killed_gateway_is_started_again_with_its_secrets_and_the_engine_stays(
    ready: LocalRuntime, home: Path
) -> None:
    say(ready, "say x")
    bridge = program(home, PodProgram.BRIDGE)
    program(home, PodProgram.GATEWAY).kill()
    pod = wait_for(ready, lambda pod: not pod.gateway_alive)
    assert pod.phase == Phase.READY
    assert pod.revision is None
    ready.deploy(pod_spec())
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.revision == 1)
    assert program(home, PodProgram.BRIDGE) == bridge
    assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_a_killed_bridge_is_started_again_and_the_gateway_stays(ready: LocalRuntime, home: Path) -> None:
    say(ready, "say x")
    gateway = program(home, PodProgram.GATEWAY)
    program(home, PodProgram.BRIDGE).kill()
    pod = wait_for(ready, Phase.UNHEALTHY)
    assert (pod.cause, pod.gateway_alive) == ("BRIDGE_DIED", True)
    ready.deploy(pod_spec())
    wait_for(ready, Phase.READY)
    assert program(home, PodProgram.GATEWAY) == gateway
    assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_a_revision_counts_only_when_both_programs_have_it(ready: LocalRuntime, home: Path) -> None:
    program(home, PodProgram.BRIDGE).kill()
    wait_for(ready, Phase.UNHEALTHY)
    ready.deploy(pod_spec(revision=2))
    assert wait_for(ready, Phase.READY).revision == 1
    ready.configure(pod_spec(revision=2))
    wait_for(ready, lambda pod: pod.revision == 2)


@pytest.mark.sampled
def test_a_pod_whose_programs_were_both_killed_is_stopped_and_nothing_of_it_is_left(
    ready: LocalRuntime, home: Path
) -> None:
    say(ready, "spawn")
    for name in PodProgram:
        program(home, name).kill()
    pod = wait_for(ready, Phase.STOPPED)
    assert pod.cause == "POD_DIED"
    assert of_this_home(home) == []
    ready.deploy(pod_spec())
    wait_for(ready, Phase.READY)
    assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_a_bridge_that_is_stopped_is_unhealthy_and_replaced(
    ready: LocalRuntime, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = program(home, PodProgram.BRIDGE)
    bridge.suspend()
    assert wait_for(ready, Phase.UNHEALTHY, within=15).cause == "BRIDGE_HUNG"
    ready.deploy(pod_spec())
    assert program(home, PodProgram.BRIDGE) == bridge
    monkeypatch.setattr("agents.runtimes.local.driver.HUNG_SECONDS", 8)
    ready.deploy(pod_spec())
    wait_for(ready, Phase.READY)
    assert program(home, PodProgram.BRIDGE) != bridge


@pytest.mark.sampled
def test_a_gateway_that_is_stopped_is_not_alive_and_replaced(
    ready: LocalRuntime, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(ready, "say x")
    gateway, bridge = program(home, PodProgram.GATEWAY), program(home, PodProgram.BRIDGE)
    gateway.suspend()
    pod = wait_for(ready, lambda pod: not pod.gateway_alive, within=15)
    assert (pod.phase, pod.cause) == (Phase.UNHEALTHY, "GATEWAY_HUNG")
    ready.deploy(pod_spec())
    assert program(home, PodProgram.GATEWAY) == gateway
    monkeypatch.setattr("agents.runtimes.local.driver.HUNG_SECONDS", 8)
    ready.deploy(pod_spec())
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
    assert program(home, PodProgram.GATEWAY) != gateway
    assert program(home, PodProgram.BRIDGE) == bridge
    assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_programs_outlive_the_worker_that_started_them(local: LocalRuntime, home: Path, tmp_path: Path) -> None:
    deploying = worker(home, tmp_path / "engines")
    let_go(deploying)
    assert close(deploying) == 0
    wait_for(local, Phase.READY)
    assert say(local, "say alive") == "alive"


@pytest.mark.sampled
@pytest.mark.parametrize("attempt", [0, 1, *(pytest.param(more, marks=pytest.mark.slow) for more in range(2, 6))])
def test_a_worker_killed_while_it_deploys_leaves_a_pod_that_the_next_one_completes(
    local: LocalRuntime, home: Path, tmp_path: Path, attempt: int
) -> None:
    deploying = worker(home, tmp_path / "engines")
    let_go(deploying)
    time.sleep(random.uniform(0, 0.12))  # kill the worker at a random moment of its work
    deploying.send_signal(signal.SIGKILL)
    close(deploying)
    local.observe()
    local.deploy(pod_spec())
    eventually(lambda: _deployed(local), within=30, what="the pod")
    assert len(programs.find(home)) == 2
    assert say(local, "say x") == "x"
    eventually(lambda: len(processes.marked(NAMESPACE, home)) == 1, within=5, what="one engine, and nothing ended")
    local.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert of_this_home(home) == []


def _deployed(runtime: LocalRuntime) -> bool:
    """Deploy again while something is missing, as the reconciler does. Returns whether the pod is ready."""
    pod = runtime.observe()[NAMESPACE]
    if pod.phase in {Phase.STOPPED, Phase.UNHEALTHY} or not pod.gateway_alive:
        runtime.deploy(pod_spec())
    return pod.phase == Phase.READY and pod.gateway_alive


@pytest.mark.sampled
def test_workers_that_deploy_the_same_pod_at_once_start_it_once(
    local: LocalRuntime, home: Path, tmp_path: Path
) -> None:
    workers = [worker(home, tmp_path / "engines") for _ in range(4)]
    for each in workers:
        let_go(each)
    assert [close(each) for each in workers] == [0, 0, 0, 0]
    wait_for(local, Phase.READY)
    assert len([process for process in of_this_home(home) if "agents.pod.gateway" in process.cmdline()]) == 1
    assert len([process for process in of_this_home(home) if "agents.pod.bridge" in process.cmdline()]) == 1
    assert len(processes.marked(NAMESPACE, home)) == 1


def test_what_a_worker_killed_in_a_removal_left_is_taken_away(local: LocalRuntime, home: Path) -> None:
    """The worker was killed between the removal of the pod's directory and of its lock, or while it wrote the port."""
    (home / "locks").mkdir(parents=True)
    (home / "data").mkdir()
    (home / "locks" / "pod-gone-1.lock").touch()
    (home / "data" / f".{AGENT}.port.tmp").write_text("2")
    local.usage()
    local.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert list((home / "locks").iterdir()) == []
    assert list((home / "data").iterdir()) == []


def test_the_lock_of_a_pod_that_is_being_made_stays(local: LocalRuntime, home: Path) -> None:
    with local.home.lock(NAMESPACE):
        local.usage()
        assert (home / "locks" / f"{NAMESPACE}.lock").exists()


def test_a_busy_pod_is_named_as_busy(local: LocalRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.runtimes.local.home.LOCK_SECONDS", 0.2)
    other = LocalRuntime(home=local.home.root, engine_cache=Path("/nowhere"))
    with local.home.lock(NAMESPACE), pytest.raises(RuntimeFailure) as failure:
        other.deploy(pod_spec())
    assert failure.value.cause == "BUSY"


@pytest.mark.sampled
def test_a_deleted_pod_leaves_no_process_even_of_those_that_hid(ready: LocalRuntime, home: Path) -> None:
    say(ready, "spawn")
    program(home, PodProgram.BRIDGE).kill()
    ready.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert of_this_home(home) == []
    assert not (home / "data" / AGENT).exists()
    assert not (home / "pods" / NAMESPACE).exists()
    assert not (home / "data" / f"{AGENT}.port").exists()


@pytest.mark.sampled
def test_data_that_an_agent_locked_away_is_removed_all_the_same(ready: LocalRuntime, home: Path) -> None:
    locked = home / "data" / AGENT / "workspace" / "locked"
    (locked / "deep").mkdir(parents=True)
    (locked / "deep" / "file").write_text("x")
    (locked / "deep").chmod(0)
    locked.chmod(0)
    ready.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert not (home / "data" / AGENT).exists()


@pytest.mark.sampled
def test_a_link_out_of_the_data_directory_is_removed_and_not_followed(
    ready: LocalRuntime, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (home / "data" / AGENT / "workspace" / "link").symlink_to(outside)
    ready.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert (outside / "kept").exists()


@pytest.mark.sampled
def test_neither_key_nor_management_token_is_in_any_environment_argument_or_file(
    ready: LocalRuntime, home: Path
) -> None:
    say(ready, "say x")
    secrets = [REAL_KEY.encode(), MANAGEMENT_TOKEN.encode(), b"ticket-key-of-this-test"]
    every = of_this_home(home)
    assert len(every) == 3
    for process in every:
        seen = visible(process, "environ") + visible(process, "cmdline")
        assert not [secret for secret in secrets if secret in seen]
    for path in home.rglob("*"):
        if path.is_file():
            assert not [secret for secret in secrets if secret in path.read_bytes()], path


@pytest.mark.sampled
def test_programs_see_nothing_of_the_workers_environment(ready: LocalRuntime, home: Path) -> None:
    inherited = processes.environment_of(program(home, PodProgram.BRIDGE).pid)
    assert "DATABASE_URL" in os.environ
    assert not {"DATABASE_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE"} & set(inherited)


@pytest.mark.sampled
def test_directories_of_pods_are_open_to_their_owner_alone(ready: LocalRuntime, home: Path) -> None:
    for directory in (home / "pods" / NAMESPACE, home / "data" / AGENT, home / "pods" / NAMESPACE / "pod.json"):
        assert directory.stat().st_mode & 0o077 == 0


@pytest.mark.sampled
def test_a_program_that_ends_does_not_stay_as_a_zombie_of_its_worker(ready: LocalRuntime, home: Path) -> None:
    pids = [process.pid for process in programs.find(home).values()]
    ready.delete(NAMESPACE, agent_id=AGENT, data=True)
    eventually(lambda: not any(psutil.pid_exists(pid) for pid in pids), within=5, what="reaped children")


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "..", "x" * 200])
def test_a_name_that_could_leave_the_directory_is_refused_for_good(local: LocalRuntime, name: str) -> None:
    for refused in (pod_spec(name), pod_spec(agent_id=name)):
        with pytest.raises(RuntimeFailure) as failure:
            local.deploy(refused)
        assert failure.value.permanent


@pytest.mark.sampled
def test_a_pod_that_does_not_end_is_killed_when_its_time_is_over(ready: LocalRuntime, home: Path) -> None:
    for name in PodProgram:
        program(home, name).suspend()
    ready.stop(NAMESPACE)
    assert ready.observe()[NAMESPACE].phase != Phase.STOPPED
    record = ready.home.record(NAMESPACE)
    assert record
    ready.home.save(NAMESPACE, dataclasses.replace(record, asked_at=record.asked_at - 60))
    wait_for(ready, Phase.STOPPED)
    assert of_this_home(home) == []


@pytest.mark.sampled
def test_a_log_that_grew_too_large_begins_anew(ready: LocalRuntime, home: Path) -> None:
    path = home / "pods" / NAMESPACE / "gateway.log"
    path.write_bytes(b"x" * (programs.LOG_BYTES + 1))
    ready.usage()
    assert path.stat().st_size == 0
