"""Ports of local pods: which pod has which port, and other programs on these ports."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from agents.runtimes.base import Phase, RuntimeFailure
from agents.runtimes.local import LocalRuntime, ports
from agents.runtimes.local.programs import PodProgram
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import NAMESPACE, pod_spec, wait_for
from tests.agents.runtimes.local.conftest import program, say


@pytest.mark.sampled
def test_a_foreign_listener_on_the_agents_port_is_the_cause_port(ready: LocalRuntime) -> None:
    endpoint = ready.endpoint(NAMESPACE)
    assert endpoint
    port = int(endpoint.public_url.rsplit(":", 1)[1])
    ready.stop(NAMESPACE)
    wait_for(ready, Phase.STOPPED)
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(RuntimeFailure) as failure:
            ready.deploy(pod_spec())
        assert failure.value.cause == "PORT"
        assert str(port) in str(failure.value)
    ready.deploy(pod_spec())
    wait_for(ready, Phase.READY)


@pytest.mark.sampled
def test_a_foreign_listener_on_an_inner_port_is_evaded(ready: LocalRuntime, home: Path) -> None:
    say(ready, "say x")
    endpoint = ready.endpoint(NAMESPACE)
    assert endpoint
    port = int(endpoint.management_url.rsplit(":", 1)[1])
    program(home, PodProgram.GATEWAY).kill()
    wait_for(ready, lambda pod: not pod.gateway_alive)
    eventually(partial(ports.is_free, port), what="the end of the killed gateway")
    with ExitStack() as listening:
        with suppress(OSError):  # the pod of another test may already listen there, which is just as good
            listening.enter_context(socket.create_server(("127.0.0.1", port)))
        ready.deploy(pod_spec())
        wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
        assert say(ready, "count") == "1"


@pytest.mark.sampled
def test_a_program_that_was_killed_may_take_a_moment_to_let_go_of_its_ports(ready: LocalRuntime, home: Path) -> None:
    record = ready.home.record(NAMESPACE)
    assert record
    program(home, PodProgram.GATEWAY).kill()
    wait_for(ready, lambda pod: not pod.gateway_alive)
    with ExitStack() as closing:
        for port in (record.public_port, record.management_port):
            eventually(partial(ports.is_free, port), what=f"port {port}")
            closing.enter_context(socket.create_server(("127.0.0.1", port)))
        threading.Timer(0.3, closing.pop_all().close).start()
        ready.deploy(pod_spec())
    wait_for(ready, lambda pod: pod.phase == Phase.READY and pod.gateway_alive)
    after = ready.home.record(NAMESPACE)
    assert after
    assert (after.public_port, after.inner_ports) == (record.public_port, record.inner_ports)


@pytest.mark.sampled
def test_ports_of_stopped_pods_are_given_to_no_other(ready: LocalRuntime) -> None:
    ready.stop(NAMESPACE)
    wait_for(ready, Phase.STOPPED)
    ready.deploy(pod_spec("pod-def-1", agent_id="agt_def"))
    first, second = ready.home.record(NAMESPACE), ready.home.record("pod-def-1")
    assert first
    assert second
    assert not {first.public_port, *first.inner_ports} & {second.public_port, *second.inner_ports}
