"""`manage.py sweep` does all due work of every app once, as of now or as of another time."""

from __future__ import annotations

import io
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts import signin
from accounts.models import Session, User
from agents.models import Agent
from agents.runtimes.base import RuntimeFailure, Usage
from tests.agents.conftest import MakeAgent
from tests.doubles.receiver import Receiver, status
from tests.doubles.runtime import ScriptedRuntime
from tests.webhooks.conftest import emit
from webhooks.models import Delivery, Event


def sweep(**options: Any) -> str:
    out = io.StringIO()
    call_command("sweep", stdout=out, **options)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)  # deliveries are drained on their own connection
def test_it_does_everything_that_is_due(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    agent = make_agent()
    signin.request_code("new@example.com", household="192.0.2.1", lang="en", now=timezone.now())
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
def test_in_development_it_can_be_another_time(owner: User) -> None:
    now = timezone.now()
    Session.objects.create(user=owner, digest="x", expires_at=now + timedelta(days=30), created_at=now)
    sweep(now=(now + timedelta(days=1)).isoformat())
    assert Session.objects.count() == 1
    sweep(now=(now + timedelta(days=400)).isoformat())
    assert Session.objects.count() == 0
    assert Event.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_pod_over_its_quota_is_stopped_as_of_an_hour_later(
    make_agent: MakeAgent,
    runtime: ScriptedRuntime,
) -> None:
    agent, now = make_agent(), timezone.now()
    Agent.objects.update(reconcile_at=agent.created_at)
    sweep()
    runtime.measured = {agent.namespace: Usage(memory_bytes=2**30, disk_bytes=2**20)}
    for minute in (*range(1, 6), 65):
        assert "pods measured: 1" in sweep(now=(now + timedelta(minutes=minute)).isoformat())
    agent.refresh_from_db()
    assert (agent.desired, agent.operation) == ("stopped", "quota")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("days", [None, 0, 30])
def test_an_event_whose_receiver_always_fails_is_tried_once_a_run(
    make_agent: MakeAgent,
    receiver: Receiver,
    days: int | None,
) -> None:
    receiver.answers(status(500))
    agents = [make_agent(webhook_url=url) for url in (receiver.url, receiver.url, f"http://127.0.0.1:{closed_port()}/")]
    for agent in agents:
        for _ in range(2):
            emit(agent)
    options = {} if days is None else {"now": (timezone.now() + timedelta(days=days, seconds=1)).isoformat()}
    said = sweep(**options)
    number = Delivery.objects.count()  # the end of a term sent an event too
    assert number >= 6
    assert f"\ndeliveries: {number}\n" in said
    assert f"left, deliveries to be tried again: {number}\n" in said
    assert set(Delivery.objects.values_list("state", "attempts")) == {("pending", 1)}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("runtime")
def test_what_a_killed_drain_still_holds_is_left_to_the_next(
    make_agent: MakeAgent,
    receiver: Receiver,
) -> None:
    agent = make_agent(webhook_url=receiver.url)
    held, waiting = emit(agent), emit(agent)
    Delivery.objects.filter(pk=held.pk).update(lease_until=timezone.now() + timedelta(seconds=30), lease_token="gone")
    said = sweep()
    assert ("deliveries: 0\n" in said, "left, deliveries to be tried again: 2\n" in said) == (True, True)
    assert Delivery.objects.get(pk=waiting.pk).attempts == 0


@pytest.mark.django_db(transaction=True)
def test_it_ends_when_everything_outside_is_away(
    make_agent: MakeAgent,
    runtime: ScriptedRuntime,
    settings: Any,
) -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", closed_port()
    settings.STARS_BOT_TOKEN, settings.STARS_BOT_USERNAME, settings.TELEGRAM_API_URL = "1:x", "bot", nowhere
    runtime.trouble = RuntimeFailure("no cluster answers", cause="UNREACHABLE")
    for number in range(3):
        signin.request_code(f"new{number}@example.com", household="192.0.2.1", lang="en", now=timezone.now())
    agent = make_agent()
    said = sweep(now=(timezone.now() + timedelta(days=1)).isoformat())
    agent.refresh_from_db()
    assert agent.status == "provisioning"
    assert "agents due: 1\n" in said
    assert "left, sign-in mail: " in said


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("now", ["yesterday", "2026-12-01T00:00:00", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_is_named(now: str) -> None:
    with pytest.raises(CommandError, match="--now"):
        sweep(now=now)


def test_production_has_only_the_present(settings: Any) -> None:
    settings.DEVELOPMENT = False
    with pytest.raises(CommandError, match="development only"):
        sweep(now="2026-12-01T00:00:00Z")
