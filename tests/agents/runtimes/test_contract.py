"""The contract that every runtime keeps (agents/runtimes/base.py), with a real gateway and bridge in each pod."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from agents.backups import credentials
from agents.pod import restic
from agents.pod.turns.failures import HopFailure
from agents.runtimes import certificates, pod_backups, pod_logs
from agents.runtimes.base import Endpoint, Phase, Runtime, RuntimeFailure, Usage
from agents.runtimes.local import LocalRuntime
from agents.runtimes.pod_backups import BackupOrder, BackupState
from agents.runtimes.pod_logs import LogQuery
from tests.agents.clusters import ground
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes import turn_calls
from tests.agents.runtimes.conftest import ACCESS, AGENT, NAMESPACE, pod_spec, wait_for, with_secrets


def say(runtime: Runtime, message: str, session: str = "s1", namespace: str = NAMESPACE) -> str:
    endpoint = runtime.endpoint(namespace)
    assert endpoint
    return turn_calls.chat(endpoint, ACCESS, message=message, session_id=session).reply


def test_a_deployed_pod_becomes_ready_on_its_revision(runtime: Runtime) -> None:
    runtime.deploy(pod_spec(revision=4))
    pod = wait_for(runtime, lambda pod: pod.phase == Phase.READY and pod.revision is not None)
    assert (pod.namespace, pod.revision, pod.gateway_alive, pod.cause) == (NAMESPACE, 4, True, None)


@pytest.mark.sampled
def test_a_ready_pod_answers_where_its_endpoint_says(ready: Runtime) -> None:
    assert say(ready, "say hello there") == "hello there"
    endpoint = ready.endpoint(NAMESPACE)
    assert endpoint
    assert requests.get(f"{endpoint.public_url}/healthz", timeout=5).status_code == 200


@pytest.mark.sampled
def test_deploying_what_exists_changes_nothing(ready: Runtime) -> None:
    say(ready, "say x")
    endpoint = ready.endpoint(NAMESPACE)
    ready.deploy(pod_spec())
    ready.deploy(pod_spec())
    assert ready.endpoint(NAMESPACE) == endpoint
    pod = wait_for(ready, Phase.READY)
    assert pod.restarts == 0
    assert say(ready, "count") == "1"


def test_a_namespace_that_was_never_deployed_is_not_observed(runtime: Runtime) -> None:
    assert runtime.observe() == {}
    assert runtime.usage() == {}
    assert runtime.endpoint(NAMESPACE) is None


def measured(runtime: Runtime, namespace: str = NAMESPACE) -> Usage:
    """Memory and disk, when both are known. The nodes of a cluster measure at their own intervals."""

    def known() -> Usage | None:
        usage = runtime.usage().get(namespace)
        return usage if usage and usage.memory_bytes and usage.disk_bytes else None

    found: Usage = eventually(known, within=20 * ground.PATIENCE, what="a measurement")
    return found


def same_address(before: Endpoint | None, after: Endpoint | None, runtime: Runtime) -> bool:
    """The address for people stays the same. If nothing routes hostnames, a cluster gives the pod's own one."""
    if before is None or after is None:
        return False
    return before.public_url == after.public_url or not isinstance(runtime, LocalRuntime)


@pytest.mark.sampled
def test_a_stopped_pod_has_no_process_and_keeps_its_data(ready: Runtime) -> None:
    say(ready, "say x")
    measured(ready)
    ready.stop(NAMESPACE)
    pod = wait_for(ready, Phase.STOPPED)
    assert not pod.gateway_alive
    assert pod.revision is None
    usage = ready.usage()[NAMESPACE]
    assert usage.memory_bytes == 0
    assert usage.disk_bytes


@pytest.mark.sampled
def test_a_stopped_pod_is_not_stopped_twice(ready: Runtime) -> None:
    ready.stop(NAMESPACE)
    wait_for(ready, Phase.STOPPED)
    ready.stop(NAMESPACE)
    assert ready.observe()[NAMESPACE].phase == Phase.STOPPED


def test_stopping_what_is_gone_succeeds(runtime: Runtime) -> None:
    runtime.stop(NAMESPACE)
    assert runtime.observe() == {}


@pytest.mark.sampled
def test_a_stopped_pod_comes_back_at_its_address_with_its_conversations(ready: Runtime) -> None:
    say(ready, "say x")
    address = ready.endpoint(NAMESPACE)
    ready.stop(NAMESPACE)
    wait_for(ready, Phase.STOPPED)
    ready.deploy(pod_spec(revision=2))
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.revision == 2)
    assert same_address(address, ready.endpoint(NAMESPACE), ready)
    assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_a_pod_that_is_wanted_again_while_it_ends_comes_back(ready: Runtime) -> None:
    ready.stop(NAMESPACE)
    ready.deploy(pod_spec(revision=2))
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.revision == 2)
    time.sleep(1)
    assert wait_for(ready, Phase.READY).revision == 2
    assert say(ready, "say again") == "again"


@pytest.mark.sampled
def test_a_deleted_pod_is_gone_with_its_data(ready: Runtime) -> None:
    say(ready, "say x")
    ready.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert ready.observe() == {}
    assert ready.endpoint(NAMESPACE) is None
    ready.deploy(pod_spec())
    wait_for(ready, Phase.READY)
    assert say(ready, "count") == "0"


@pytest.mark.sampled
def test_a_pod_that_is_replaced_leaves_address_and_data_to_the_next_one(ready: Runtime) -> None:
    say(ready, "say x")
    before = ready.endpoint(NAMESPACE)
    ready.delete(NAMESPACE, agent_id=AGENT, data=False)
    assert ready.observe() == {}
    ready.deploy(pod_spec("pod-abc-2"))
    wait_for(ready, Phase.READY, "pod-abc-2")
    assert same_address(before, ready.endpoint("pod-abc-2"), ready)
    assert say(ready, "count", namespace="pod-abc-2") == "1"


@pytest.mark.sampled
def test_deleting_what_is_gone_succeeds(ready: Runtime) -> None:
    for _ in range(2):
        ready.delete(NAMESPACE, agent_id=AGENT, data=True)
    assert ready.observe() == {}


@pytest.mark.sampled
def test_two_pods_do_not_touch_each_other(ready: Runtime) -> None:
    ready.deploy(pod_spec("pod-def-1", agent_id="agt_def"))
    wait_for(ready, Phase.READY, "pod-def-1")
    say(ready, "say x")
    assert say(ready, "count", namespace="pod-def-1") == "0"
    ready.delete("pod-def-1", agent_id="agt_def", data=True)
    assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_a_new_revision_is_applied_in_place(ready: Runtime) -> None:
    say(ready, "say x")
    ready.configure(pod_spec(revision=2, soul="You are somebody else."))
    pod = wait_for(ready, lambda pod: pod.revision == 2)
    assert pod.phase == Phase.READY
    assert "somebody else" in say(ready, "args")
    assert say(ready, "count") == "2"


def test_a_key_is_taken_and_taken_away_in_place(runtime: Runtime) -> None:
    runtime.deploy(pod_spec(key=None))
    wait_for(runtime, Phase.READY)
    assert say(runtime, "say x") == ""
    runtime.configure(pod_spec(revision=2))
    assert say(runtime, "say x") == "x"
    runtime.configure(pod_spec(revision=3, key=None))
    assert say(runtime, "say x") == ""


def test_configuring_what_is_not_there_is_a_failure(runtime: Runtime) -> None:
    with pytest.raises(RuntimeFailure):
        runtime.configure(pod_spec())


@pytest.mark.sampled
def test_the_management_token_is_needed(ready: Runtime) -> None:
    endpoint = ready.endpoint(NAMESPACE)
    assert endpoint
    with pytest.raises(HopFailure):
        turn_calls.chat(endpoint, replace(ACCESS, token="another token"), message="say x", session_id=None)
    with pytest.raises(RuntimeFailure):
        ready.configure(with_secrets(pod_spec(revision=2), management_token="another token"))


@pytest.mark.sampled
def test_a_gateway_proves_by_its_certificate_who_it_is(ready: Runtime) -> None:
    endpoint = ready.endpoint(NAMESPACE)
    assert endpoint
    stranger = replace(ACCESS, certificate=certificates.make().certificate)
    with pytest.raises(HopFailure, match="does not prove"):
        turn_calls.chat(endpoint, stranger, message="say x", session_id=None)
    with pytest.raises(RuntimeFailure, match="does not prove"):
        ready.configure(replace(pod_spec(revision=2), identity=certificates.make()))
    assert say(ready, "say x") == "x"


@pytest.mark.sampled
def test_a_gateway_with_an_earlier_certificate_is_replaced_and_conversations_go_on(ready: Runtime) -> None:
    say(ready, "say x")
    fresh = replace(pod_spec(), identity=certificates.make())
    ready.deploy(fresh)

    def replaced() -> str | None:
        endpoint = ready.endpoint(NAMESPACE)
        with suppress(HopFailure):
            return turn_calls.chat(endpoint, fresh.access, message="count", session_id="s1").reply if endpoint else None
        return None

    assert eventually(replaced, within=60 * ground.PATIENCE, what="the new gateway") == "1"
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)


@pytest.mark.sampled
def test_usage_covers_the_engines_tree_and_the_data(ready: Runtime) -> None:
    say(ready, "spawn")
    usage = measured(ready)
    assert usage.memory_bytes
    assert usage.memory_bytes > 10 * 2**20


@pytest.mark.sampled
def test_every_pod_is_observed_and_measured_in_one_call(ready: Runtime) -> None:
    ready.deploy(pod_spec("pod-def-1", agent_id="agt_def"))
    wait_for(ready, Phase.READY, "pod-def-1")
    measured(ready, "pod-def-1")
    assert set(ready.observe()) == set(ready.usage()) == {NAMESPACE, "pod-def-1"}
    ready.delete("pod-def-1", agent_id="agt_def", data=True)


@pytest.mark.sampled
def test_what_a_pod_says_is_told_while_it_lives_and_where_files_stay_afterwards(ready: Runtime) -> None:
    endpoint = ready.endpoint(NAMESPACE)
    assert endpoint

    def told() -> list[str]:
        page = pod_logs.page(endpoint, ACCESS, LogQuery(after=0, limit=100))
        return [line.text for _, line in page.lines]

    eventually(lambda: {"the gateway runs", "engine double up", "ready"} <= set(told()), what="the pod's log")
    tail = pod_logs.tail(endpoint, ACCESS, size=2**18, life="none", end=0)
    assert tail
    ready.stop(NAMESPACE)
    wait_for(ready, Phase.STOPPED)
    left = ready.left_log(NAMESPACE)
    if isinstance(ready, LocalRuntime):
        assert left
        assert left.life == tail.life
        assert b'"stopped"' in left.chunks[-1].load()
        assert ready.fleeting_logs(10) == []
    else:
        assert left is None
        assert ready.fleeting_logs(10) == []  # the pod runs no more


@pytest.mark.sampled
def test_a_running_pods_log_is_kept_now_and_then_where_it_goes_with_the_pod(ready: Runtime) -> None:
    fleeting = [] if isinstance(ready, LocalRuntime) else [NAMESPACE]
    assert ready.fleeting_logs(10) == fleeting
    assert ready.fleeting_logs(10) == []


@pytest.mark.sampled
@pytest.mark.skipif(ground.is_real, reason="its pods do not reach an endpoint of this machine")
def test_a_pods_backup_is_restored_by_the_next_one(ready: Runtime, program: Path, url: str, tmp_path: Path) -> None:
    """The real restic makes the backup, through the pod's own API. Words said after the backup are forgotten."""
    store = restic.environment(repository=str(tmp_path / "store" / AGENT), cache=None, more={})
    subprocess.run([program, "--quiet", "init"], env=store, input=b"of the repository", check=True)
    say(ready, "say x")
    may_add = credentials.mint(AGENT, may_add=10**9)
    order = BackupOrder(id="bkp_1", url=url, credential=may_add, password="of the repository", most_bytes=10**9)

    def made() -> BackupState | None:
        endpoint = ready.endpoint(NAMESPACE)
        assert endpoint
        state = pod_backups.back_up(endpoint, ACCESS, order)
        assert state.phase != "failed", state.message
        return state if state.phase == "done" else None

    taken = eventually(made, within=60, what="the backup")
    assert (taken.message, taken.broken) == ("", 0)
    say(ready, "say y")
    ready.delete(NAMESPACE, agent_id=AGENT, data=False)
    second = "pod-abc-2"
    ready.deploy(replace(pod_spec(second), data_expected=True, restore="bkp_1.2"))
    wait_for(ready, Phase.RESTORING, second)
    way = replace(order, id="bkp_1.2", credential=credentials.mint(AGENT), snapshot=taken.snapshot)

    def restored() -> bool:
        endpoint = ready.endpoint(second)
        with suppress(HopFailure):
            return endpoint is not None and pod_backups.restore(endpoint, ACCESS, way).phase == "done"
        return False

    eventually(restored, within=60, what="the restore")
    wait_for(ready, Phase.READY, second, within=60)
    assert say(ready, "count", namespace=second) == "1"
