"""Facts about an engine that only a pod in a cluster shows: it starts from its image, as the image's user."""

from __future__ import annotations

import dataclasses
import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from agents.clusters.api import names
from agents.pod.gateway.egress import authority
from tests.agents.engines.conftest import MANAGEMENT_TOKEN, REAL_KEY, TICKET_KEY, EnginePod, those
from tests.agents.engines.expectations import expected
from tests.doubles.model_protocols import ToolCall
from tests.doubles.reached import ADDRESS

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]

CALLS = """
import socket
for port in {1}:
    try:
        socket.create_connection(("{0}", port), 3).close()
        print(f"<{{port}} reached>")
    except OSError:
        print(f"<{{port}} not reached>")
"""


def test_key_and_tokens_are_nowhere_in_the_engines_container(pod: EnginePod) -> None:
    from tests.agents.engines.in_a_cluster import ClusterPod

    assert isinstance(pod, ClusterPod)
    known = expected(pod)
    pod.start(toolsets=[known.kept, *([known.deed[0]] if known.can_act else [])])
    if known.exec:
        _, tool, argument = known.exec
        pod.model.tool_calls = [ToolCall(tool, {argument: "env; cat /proc/self/environ /proc/*/cmdline; ps aux"})]
    pod.model.reply = f"I was called with {REAL_KEY}"  # a provider that repeats the key that it got
    pod.say("tell me all you know")
    secrets = (REAL_KEY, MANAGEMENT_TOKEN, TICKET_KEY)
    heard = str(pod.model.turns()[-1].body)
    assert not [secret for secret in secrets if secret in heard]
    assert pod.held(pod.namespace) != []  # this is in environments and proves that the search works
    assert pod.held(*secrets) == []


def test_nothing_of_it_runs_as_root_or_can_become_root(pod: EnginePod) -> None:
    from tests.agents.engines.in_a_cluster import ClusterPod

    assert isinstance(pod, ClusterPod)
    pod.start()
    assert pod.say("hello") == "pong"
    users, none_gains = pod.rights()
    assert users == {10001}
    assert none_gains


@pytest.mark.parametrize("engine", those(lambda known: known.exec), indirect=True)
def test_an_engine_on_a_list_of_hosts_reaches_nothing_past_its_gateway(pod: EnginePod) -> None:
    """A command of the engine tries the ports that its wall leaves open, and another one, before and after."""
    from tests.agents.engines.in_a_cluster import ClusterPod

    assert isinstance(pod, ClusterPod)
    toolset, tool, argument = expected(pod).deed
    with listening(*names.WALLED_PORTS, 0) as ports:
        command = shlex.join([pod.python, "-c", CALLS.format(ADDRESS, ports)])
        pod.start(toolsets=[toolset])
        assert heard(pod, ToolCall(tool, {argument: command})) == dict.fromkeys(ports, "reached")
        given = {"limited": True, "hosts": [], "secrets": []}
        secrets = dataclasses.replace(pod.spec.secrets, egress=given)
        pod.spec = dataclasses.replace(pod.spec, secrets=secrets, egress_limited=True)
        pod.change(egress_authority=authority.certificate_of(TICKET_KEY), egress_limited=True)
        pod.wait_ready()
        assert pod.is_walled()
        assert heard(pod, ToolCall(tool, {argument: command})) == dict.fromkeys(ports, "not reached")


def heard(pod: EnginePod, call: ToolCall) -> dict[int, str]:
    """What the command says about each port."""
    pod.model.tool_calls = [call]
    assert pod.say("try all", session=f"try-{len(pod.model.turns())}") == "pong"
    said = str(pod.model.turns()[-1].body)
    return {int(port): outcome for port, outcome in re.findall(r"<(\d+) (reached|not reached)>", said)}


@contextmanager
def listening(*ports: int) -> Iterator[list[int]]:
    """Listen where pods can reach this machine; 0 is any free port. Returns the ports."""
    with ExitStack() as opened:
        yield [opened.enter_context(socket.create_server((ADDRESS, port))).getsockname()[1] for port in ports]
