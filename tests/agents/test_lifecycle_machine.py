"""After any calls in any order, with pods that fail and vanish, the timeline is legal and the agent ends as wanted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from agents import entitlement
from agents.models import Agent, Desired, Reason, Status, Transition
from agents.running import lifecycle, pods, reconciler
from agents.running.lifecycle import TRANSITIONS
from agents.runtimes.base import Phase
from config.errors import Conflict, NotFound
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.at_length import examples
from tests.doubles.runtime import ScriptedRuntime

Act = Callable[[Agent, ScriptedRuntime], object]


def _lose(agent: Agent, runtime: ScriptedRuntime) -> None:
    runtime.pods.pop(agent.namespace, None)


def _look(phase: Phase) -> Act:
    def act(agent: Agent, runtime: ScriptedRuntime) -> None:
        if agent.namespace in runtime.pods and runtime.pods[agent.namespace].seen.phase != Phase.STOPPED:
            runtime.set(agent.namespace, phase=phase)

    return act


def _comes_up_as(phase: Phase) -> Act:
    return lambda agent, runtime: setattr(runtime, "comes_up_as", phase)


ACTS: dict[str, Act] = {
    "pause": lambda agent, _: lifecycle.pause(agent, reason=Reason.OWNER, actor="t"),
    "trial": lambda agent, _: lifecycle.pause(agent, reason=Reason.TRIAL, actor="billing"),
    "resume": lambda agent, _: lifecycle.resume(agent, actor="t"),
    "rebuild": lambda agent, _: lifecycle.rebuild(agent, actor="t"),
    "delete": lambda agent, _: lifecycle.delete(agent, actor="t"),
    "grant": lambda agent, _: entitlement.grant(agent, until=None),
    "withdraw": lambda agent, _: entitlement.withdraw(agent, until=timezone.now() - timedelta(days=1)),
    "step": lambda agent, _: reconciler.reconcile(agent.id),
    "lose": _lose,
    "ready": _look(Phase.READY),
    "unhealthy": _look(Phase.UNHEALTHY),
    "failed": _look(Phase.FAILED),
    "bad-pods": _comes_up_as(Phase.FAILED),
    "slow-pods": _comes_up_as(Phase.STARTING),
    "good-pods": _comes_up_as(Phase.READY),
}


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.sampled_from(sorted(ACTS)), max_size=25))
def test_any_history_is_legal_and_ends_as_wanted(
    make_agent: MakeAgent, runtime: ScriptedRuntime, acts: list[str]
) -> None:
    runtime.pods.clear()
    runtime.comes_up_as = Phase.READY
    agent = make_agent(User.objects.create_user(f"{timezone.now().timestamp()}@example.com"))
    for name in acts:
        agent.refresh_from_db()
        _try(ACTS[name], agent, runtime)
    runtime.comes_up_as = Phase.READY
    agent = settle(agent, rounds=30)
    _check_timeline(agent)
    _check_end(agent, runtime)


def _try(act: Act, agent: Agent, runtime: ScriptedRuntime) -> None:
    with suppress(Conflict, NotFound):
        act(agent, runtime)


def _check_timeline(agent: Agent) -> None:
    rows = list(Transition.objects.filter(agent=agent).order_by("id"))
    moves = [(row.from_status, row.to_status) for row in rows if row.from_status != row.to_status]
    assert all(Status(to) in TRANSITIONS[Status(came_from)] for came_from, to in moves)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(moves))
    settled = [f"agent.{to}" for _, to in moves if to != Status.PROVISIONING]
    assert event_types(agent) == settled


def _check_end(agent: Agent, runtime: ScriptedRuntime) -> None:
    own = [name for name in runtime.pods if pods.suffix_of(name) == agent.suffix]
    if agent.desired == Desired.DELETED:
        assert (agent.status, own, agent.id in runtime.data) == (Status.DELETED, [], False)
        return
    assert set(own) <= {agent.namespace}
    if agent.desired == Desired.STOPPED:
        assert agent.status == Status.STOPPED
    else:
        assert agent.status in {Status.RUNNING, Status.FAILED, Status.PROVISIONING}
