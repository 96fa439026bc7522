"""Trouble around real engines: which hop is silent, and what the pod says about it."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator

import pytest

from agents.engines import ENGINES
from agents.engines.base import Processes
from agents.runtimes import management
from agents.runtimes.base import Phase
from agents.runtimes.management import ModelRefusal, TriedHop
from tests.agents.engines.conftest import ACCESS, REAL_KEY, EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.small_disk import SmallDisk

pytestmark = pytest.mark.engines

with_a_port = pytest.mark.parametrize(
    "engine", sorted(e.id for e in ENGINES.values() if e.processes is Processes.ONE_SERVER), indirect=True
)


def talk_test(pod: EnginePod) -> dict[str, TriedHop]:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    return {hop.hop: hop for hop in management.talk_test(endpoint, ACCESS)}


def silent(pod: EnginePod) -> set[str]:
    return {name for name, hop in talk_test(pod).items() if not hop.ok}


def last_word(pod: EnginePod) -> ModelRefusal | None:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    return management.health(endpoint, ACCESS).model


def test_a_healthy_pod_has_no_silent_hop(pod: EnginePod) -> None:
    pod.start()
    assert silent(pod) == set()
    assert last_word(pod) is None


def test_a_refused_key_is_the_providers_last_word_until_there_is_another(pod: EnginePod) -> None:
    pod.start()
    pod.model.key = "sk-the-only-good-key-0815"
    assert pod.failing_hop() == "model"
    said = last_word(pod)
    assert said
    assert (said.status, "Incorrect API key provided" in said.message) == (401, True)
    assert silent(pod) == {"model"}
    pod.change(key=pod.model.key)
    assert last_word(pod) is None
    assert silent(pod) == set()
    assert REAL_KEY not in said.message


def test_a_dead_model_server_is_the_silent_hop(pod: EnginePod) -> None:
    pod.start()
    pod.model.stop()
    hops = talk_test(pod)
    assert {name for name, hop in hops.items() if not hop.ok} == {"model"}
    assert hops["model"].error == f"{pod.spec.config.provider} cannot be reached"
    said = last_word(pod)
    assert said
    assert said.status is None


@pytest.fixture
def disk(pod: EnginePod) -> Iterator[SmallDisk]:
    disk = SmallDisk(pod.data, megabytes=4)
    yield disk
    pod.runtime.delete(pod.namespace, agent_id="agt_real", data=False)
    disk.close()


@pytest.mark.parametrize("engine", ["pi"], indirect=True)
def test_a_full_disk_is_the_engines_silence_and_not_the_models(pod: EnginePod, disk: SmallDisk) -> None:
    pod.start()
    pod.say("one")
    disk.fill()
    pod.model.reply = "word " * 4000
    assert pod.failing_hop("more " * 2000) == "engine"
    assert eventually(lambda: pod.seen().cause, within=10, what="the cause") == "DISK_FULL"
    assert pod.seen().phase == Phase.READY
    assert any("ENOSPC" in line for line in pod.seen().evidence)


@with_a_port
def test_an_engine_whose_own_port_was_taken_says_so(pod: EnginePod) -> None:
    pod.start()
    record = pod.runtime.home.record(pod.namespace)
    assert record
    pod.signal_engine(signal.SIGKILL)
    eventually(lambda: pod.seen().phase == Phase.UNHEALTHY, within=5, what="the death")
    with socket.create_server(("127.0.0.1", record.engine_port)):
        eventually(lambda: pod.seen().cause == "PORT", within=15, what="the cause")
        assert talk_test(pod)["engine"].error == f"PORT: {pod.seen().message}"
    pod.wait_ready(within=60)
