"""Why an agent is as it is: the next call is one that would be taken."""

from __future__ import annotations

import pytest

from agents import explanation, lifecycle
from agents.errors import renew_url
from agents.models import Agent, Reason
from agents.runtimes.base import Phase
from tests.agents.conftest import MakeAgent, settle
from tests.doubles.runtime import ScriptedRuntime


def stopped(agent: Agent, reason: Reason) -> Agent:
    lifecycle.pause(agent, reason=reason, actor="billing")
    return settle(agent)


@pytest.mark.parametrize("reason", [Reason.OWNER, Reason.TRIAL])
def test_an_agent_whose_free_time_is_over_is_paid_for_before_it_can_be_resumed(running: Agent, reason: Reason) -> None:
    agent = stopped(running, reason)
    agent.entitled_until = agent.created_at
    assert explanation.of(agent).next == renew_url(agent.id)


def test_an_agent_that_was_paid_for_after_its_stop_is_resumed(running: Agent) -> None:
    agent = stopped(running, Reason.TRIAL)
    agent.entitled_until = None
    found = explanation.of(agent)
    assert (found.cause, found.next) == ("TRIAL", f"POST /agents/{agent.id}/resume")


def test_a_failed_agent_whose_free_time_is_over_is_paid_for_first(
    make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    runtime.comes_up_as = Phase.FAILED
    agent = settle(make_agent())
    assert explanation.of(agent).next == f"POST /agents/{agent.id}/rebuild"
    agent.entitled_until = agent.created_at
    assert explanation.of(agent).next == renew_url(agent.id)
