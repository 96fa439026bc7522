"""Each engine at its owner's limits: the call is refused, the person learns why, and the agent goes on afterwards."""

from __future__ import annotations

import dataclasses

import pytest

from agents.pod.turns.failures import HopFailure
from tests.agents.engines.conftest import EnginePod

pytestmark = [pytest.mark.engines, pytest.mark.anywhere]


def limit(pod: EnginePod, **limits: int | bool) -> None:
    secrets = dataclasses.replace(pod.spec.secrets, spending_limits=limits)
    pod.spec = dataclasses.replace(pod.spec, secrets=secrets)
    pod.change()


def test_a_turn_that_the_owner_forbids_fails_with_the_reason_and_the_next_one_is_answered(pod: EnginePod) -> None:
    pod.start()
    assert pod.say("first") == "pong"
    limit(pod, is_stopped=True)
    before = len(pod.model.turns())
    with pytest.raises(HopFailure) as failure:
        pod.say("second")
    assert failure.value.hop == "model"
    assert "the owner of this agent has switched its model calls off" in str(failure.value)
    assert len(pod.model.turns()) == before
    limit(pod)
    assert pod.say("third") == "pong"
