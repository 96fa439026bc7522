"""`manage.py reconcile [AGENT]`."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from agents.models import Agent
from tests.agents.conftest import MakeAgent, settle


def reconcile(*arguments: str) -> str:
    out = io.StringIO()
    call_command("reconcile", *arguments, stdout=out)
    return out.getvalue()


def test_one_agent_takes_its_next_step(make_agent: MakeAgent) -> None:
    agent, other = make_agent(), make_agent()
    assert reconcile(agent.id) == f"{agent.id}: provisioning, wanted running\n"
    Agent.objects.update(reconcile_at=agent.created_at)
    assert reconcile(agent.id) == f"{agent.id}: running, wanted running\n"
    other.refresh_from_db()
    assert other.status == "provisioning"


def test_without_an_id_all_that_are_due_take_theirs(make_agent: MakeAgent) -> None:
    agents = [make_agent(), make_agent()]
    assert reconcile() == "2 agents were due\n"
    assert {settle(agent).status for agent in agents} == {"running"}


@pytest.mark.usefixtures("runtime")
def test_an_unknown_agent_is_named(db: None) -> None:
    with pytest.raises(CommandError, match="agt_nobody"):
        reconcile("agt_nobody")
