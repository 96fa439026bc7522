"""The field `from` of an event: for a stop, failure or deletion it is never the status that the agent gets."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agents.models import Agent, Reason, Status
from agents.running import lifecycle
from agents.runtimes.base import Phase
from tests.agents.conftest import MakeAgent, settle
from tests.doubles.runtime import ScriptedRuntime
from webhooks.models import Event

pytestmark = pytest.mark.unmeasured

STOPS = [Reason.OWNER, Reason.TRIAL, Reason.PAYMENT, Reason.QUOTA, Reason.SUSPENDED]
Path = Callable[[Agent, ScriptedRuntime], Agent]


def told(agent: Agent) -> tuple[str, str]:
    data = json.loads(Event.objects.filter(agent=agent).latest("created_at").body)["data"]
    return data["from"], data["to"]


def new(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    runtime.comes_up_as = Phase.STARTING
    return settle(agent, rounds=2)


def resumed(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    agent = settle(lifecycle.pause(settle(agent), reason=Reason.OWNER, actor="user:test"))
    runtime.comes_up_as = Phase.STARTING
    return settle(lifecycle.resume(agent, actor="user:test"), rounds=2)


def rebuilt(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    agent = settle(agent)
    runtime.comes_up_as = Phase.STARTING
    return settle(lifecycle.rebuild(agent, actor="user:test"), rounds=3)


def rebuilt_from_stopped(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    agent = settle(lifecycle.pause(settle(agent), reason=Reason.OWNER, actor="user:test"))
    runtime.comes_up_as = Phase.STARTING
    return settle(lifecycle.rebuild(agent, actor="user:test"), rounds=3)


def rebuilt_after_failure(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    agent = failed(agent, runtime)
    runtime.comes_up_as = Phase.STARTING
    return settle(lifecycle.rebuild(agent, actor="user:test"), rounds=3)


def recovering(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    agent = settle(agent)
    runtime.comes_up_as = Phase.STARTING
    runtime.pods.clear()
    return settle(agent, rounds=3)


def failed(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    runtime.comes_up_as = Phase.FAILED
    return settle(agent)


def up(agent: Agent, runtime: ScriptedRuntime) -> Agent:
    return settle(agent)


PROVISIONING: list[Path] = [new, resumed, rebuilt, rebuilt_from_stopped, rebuilt_after_failure, recovering]
EVERY: list[tuple[Path, Status]] = [
    *((path, Status.PROVISIONING) for path in PROVISIONING),
    (up, Status.RUNNING),
    (failed, Status.FAILED),
]


@pytest.mark.parametrize(("path", "status"), EVERY)
@pytest.mark.parametrize("reason", STOPS)
def test_a_stop_comes_from_what_the_agent_was(
    make_agent: MakeAgent, runtime: ScriptedRuntime, path: Path, status: Status, reason: Reason
) -> None:
    agent = path(make_agent(), runtime)
    assert agent.status == status
    agent = settle(lifecycle.pause(agent, reason=reason, actor="test"))
    assert agent.status == Status.STOPPED
    is_silent = status == Status.FAILED and reason in lifecycle.UNPAID  # nothing was stopped: no event
    assert told(agent) == (("provisioning", "failed") if is_silent else (status, "stopped"))


@pytest.mark.parametrize(("path", "status"), EVERY)
def test_a_deletion_comes_from_what_the_agent_was(
    make_agent: MakeAgent, runtime: ScriptedRuntime, path: Path, status: Status
) -> None:
    agent = path(make_agent(), runtime)
    agent = settle(lifecycle.delete(agent, actor="user:test"))
    assert told(agent) == (status, "deleted")


@pytest.mark.parametrize(
    ("path", "came_from"),
    [(new, "provisioning"), (resumed, "stopped"), (rebuilt, "running"), (rebuilt_from_stopped, "stopped"),
     (rebuilt_after_failure, "provisioning"), (recovering, "running")],
)  # fmt: skip
def test_a_build_that_fails_never_comes_from_failed(
    make_agent: MakeAgent, runtime: ScriptedRuntime, path: Path, came_from: str
) -> None:
    agent = path(make_agent(), runtime)
    runtime.set(agent.namespace, phase=Phase.FAILED)
    agent = settle(agent)
    assert (agent.status, told(agent)) == (Status.FAILED, (came_from, "failed"))


@pytest.mark.parametrize(
    ("path", "came_from"),
    [(new, "provisioning"), (resumed, "stopped"), (rebuilt, "running"), (rebuilt_from_stopped, "stopped"),
     (rebuilt_after_failure, "failed"), (recovering, "running")],
)  # fmt: skip
def test_a_pod_that_came_up_tells_the_status_before_the_operation(
    make_agent: MakeAgent, runtime: ScriptedRuntime, path: Path, came_from: str
) -> None:
    agent = path(make_agent(), runtime)
    runtime.set(agent.namespace, phase=Phase.READY)
    agent = settle(agent)
    assert (agent.status, told(agent)) == (Status.RUNNING, (came_from, "running"))
