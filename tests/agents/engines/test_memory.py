"""What each engine has learned, read from a real engine's own files. `make test-engines` runs it."""

from __future__ import annotations

import signal

import pytest

from agents.runtimes import management
from tests.agents.engines.conftest import ACCESS, EnginePod

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]


def test_what_it_has_learned_is_read_from_its_own_files(pod: EnginePod) -> None:
    pod.start()
    before = _memory(pod)
    pod.say("one", "first")
    pod.say("two", "second")
    pod.say("three", "second")
    for store in pod.engine.stores.skills:
        pod.write(f"{store}/tea-making/SKILL.md", "---\nname: tea-making\ndescription: Tea.\n---\nBoil it.\n")
    for store in pod.engine.stores.memories:
        pod.write(f"{store}/MEMORY.md", "The owner likes tea.")
    found = _memory(pod)
    assert found.sessions - before.sessions == 2
    # n8n has no skills. The catalog says so too.
    assert set(found.skills) - set(before.skills) == ({"tea-making"} if pod.engine.stores.skills else set())
    assert found.memories == [("MEMORY.md", "The owner likes tea.")] * len(pod.engine.stores.memories)
    pod.signal_engine(signal.SIGKILL)
    assert _memory(pod) == found


def _memory(pod: EnginePod) -> management.Memory:
    endpoint = pod.runtime.endpoint(pod.namespace)
    assert endpoint
    return management.memory(endpoint, ACCESS)
