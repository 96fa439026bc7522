"""`manage.py sweep`: all due work of every app, once, now or as of another time."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts import signin
from accounts.models import Session, User
from agents.models import Agent
from agents.runtimes.base import Usage
from tests.agents.conftest import MakeAgent, catalog, make_agent, owner, runtime  # noqa: F401 # fixtures of agents
from tests.doubles.runtime import ScriptedRuntime
from webhooks.models import Event


def sweep(**options: Any) -> str:
    out = io.StringIO()
    call_command("sweep", stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)  # deliveries are drained on a connection of their own
def test_it_does_everything_that_is_due(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:  # noqa: F811
    agent = make_agent()
    signin.request_code("new@example.com", lang="en", now=timezone.now())
    Agent.objects.update(reconcile_at=agent.created_at)
    sweep()
    Agent.objects.update(reconcile_at=agent.created_at)
    said = sweep()
    agent.refresh_from_db()
    assert agent.status == "running"
    assert [message.to for message in mail.outbox] == [["new@example.com"]]
    assert "agents due: 1" in said
    assert "deposits for pending orders: 0" in said


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runtime")
def test_in_development_it_can_be_another_time(owner: User) -> None:  # noqa: F811
    now = timezone.now()
    Session.objects.create(user=owner, digest="x", expires_at=now + timedelta(days=30), created_at=now)
    sweep(now=(now + timedelta(days=1)).isoformat())
    assert Session.objects.count() == 1
    sweep(now=(now + timedelta(days=400)).isoformat())
    assert Session.objects.count() == 0
    assert Event.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_pod_over_its_quota_is_stopped_as_of_an_hour_later(
    make_agent: MakeAgent,  # noqa: F811
    runtime: ScriptedRuntime,  # noqa: F811
) -> None:
    agent, now = make_agent(), timezone.now()
    Agent.objects.update(reconcile_at=agent.created_at)
    sweep()
    runtime.measured = {agent.namespace: Usage(memory_bytes=2**30, disk_bytes=2**20)}
    for minute in (*range(1, 6), 65):
        assert "pods measured: 1" in sweep(now=(now + timedelta(minutes=minute)).isoformat())
    agent.refresh_from_db()
    assert (agent.desired, agent.operation) == ("stopped", "quota")


@pytest.mark.parametrize("now", ["yesterday", "2026-12-01T00:00:00", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_named(now: str) -> None:
    with pytest.raises(CommandError, match="--now"):
        sweep(now=now)


def test_production_has_only_the_present(settings: Any) -> None:
    settings.DEVELOPMENT = False
    with pytest.raises(CommandError, match="development only"):
        sweep(now="2026-12-01T00:00:00Z")
