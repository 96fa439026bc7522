"""Facts about an engine that only a pod in a cluster shows: it starts from its image, as the image's user."""

from __future__ import annotations

import pytest

from tests.agents.engines.conftest import MANAGEMENT_TOKEN, REAL_KEY, TICKET_KEY, EnginePod
from tests.agents.engines.expectations import expected
from tests.doubles.model_protocols import ToolCall

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]


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
