"""What an operator does about agents, in a real Chromium, from the console's first page and without a manual."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from agents.backups.models import Backup
from agents.models import Agent, Status, Transition
from config.audit.models import AuditEntry
from status.overview import facts
from tests.accounts.factors.people import operator
from tests.agents.conftest import MakeAgent, settle
from tests.config.console_walk import ConsoleWalk, walked
from webhooks import events
from webhooks.event_types import EventType
from webhooks.models import Delivery, Hook, State

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WHY = "asked for by mail"


def seen(agent: Agent, **columns: Any) -> Agent:
    Agent.objects.filter(pk=agent.pk).update(**columns)
    agent.refresh_from_db()
    return agent


def failed(agent: Agent, *, hours: int, **columns: Any) -> Agent:
    return seen(agent, status=Status.FAILED, status_since=timezone.now() - timedelta(hours=hours), **columns)


def test_who_paid_and_is_not_running(live_server: LiveServer, make_agent: MakeAgent) -> None:
    settle(make_agent(name="Free Owl"))
    seen(settle(make_agent(name="Paid Owl")), paid=True)
    away = failed(settle(make_agent(name="Night Owl")), hours=30, paid=True, cause="IMAGE")

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Agents")
        await walk.only("Paid and not running")
        await expect(walk.row("Night Owl")).to_contain_text("IMAGE")
        await expect(walk.row("Owl")).to_have_count(1)
        await walk.open("Night Owl")
        await walk.says(away.pk)

    walked(live_server.url, operator("support"), steps)


def test_which_agents_failed_tonight_and_why(live_server: LiveServer, make_agent: MakeAgent) -> None:
    told = "the engine ended with exit code 137 three times in a row"
    tonight, earlier, _ = (settle(make_agent(name=name)) for name in ("Tonight", "Last week", "Healthy"))
    failed(tonight, hours=3, cause="CRASH_LOOP", cause_message=told)
    failed(earlier, hours=150, cause="IMAGE", cause_message="no such image")

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Agents")
        await walk.only("Failed in the last 12 hours")
        await expect(walk.row("Tonight")).to_contain_text("CRASH_LOOP")
        await expect(walk.row("Tonight")).to_contain_text(told)
        for other in ("Last week", "Healthy"):
            await expect(walk.row(other)).to_have_count(0)
        await walk.open("Tonight")
        await walk.says(f"CRASH_LOOP: {told}")

    walked(live_server.url, operator("support"), steps)


def with_failed_deliveries(agent: Agent) -> None:
    now = timezone.now()
    Hook.objects.create(agent=agent, url="https://a.example.com", authority="a.example.com", secret="s", created_at=now)
    for kind in (EventType.AGENT_RUNNING, EventType.AGENT_STOPPED, EventType.AGENT_FAILED):
        events.emit(agent, kind, {}, now=timezone.now())
    Delivery.objects.filter(agent=agent).update(state=State.DELIVERED, http_status=200, finished_at=now)
    lost = Delivery.objects.filter(agent=agent, event__type=EventType.AGENT_STOPPED)
    lost.update(state=State.FAILED, http_status=503, finished_at=now, attempts=12)


def test_which_deliveries_of_an_agent_fail_and_one_is_sent_again(
    live_server: LiveServer, make_agent: MakeAgent
) -> None:
    agent = settle(make_agent(name="Night Owl"))
    make_agent(name="Day Owl")
    with_failed_deliveries(agent)

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Agents")
        await walk.search(agent.pk)
        await walk.open("Night Owl")
        lost = walk.row("agent.stopped", "503")
        await expect(lost).to_contain_text("failed")
        await walk.click(lost.get_by_role("link"))
        await walk.step("Resend", "Resend", reason=WHY)
        await walk.says("Will be sent again")

    walked(live_server.url, operator("support"), steps)
    states = dict(Delivery.objects.filter(agent=agent).values_list("event__type", "state"))
    assert states == {
        EventType.AGENT_RUNNING: State.DELIVERED,
        EventType.AGENT_STOPPED: State.PENDING,
        EventType.AGENT_FAILED: State.DELIVERED,
    }
    assert AuditEntry.objects.get(verb="Resend deliveries").reason == WHY


def test_which_backups_are_overdue_and_one_is_taken(
    live_server: LiveServer, make_agent: MakeAgent, settings: Any, tmp_path: Any
) -> None:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    now = timezone.now()
    fresh = {"status_since": now - timedelta(days=9), "last_backup_at": now - timedelta(hours=9)}
    seen(settle(make_agent(name="Fresh")), **fresh)
    old = seen(settle(make_agent(name="Forgotten")), **{**fresh, "last_backup_at": now - timedelta(days=3)})
    facts.measure(now=now)

    async def steps(walk: ConsoleWalk) -> None:
        await walk.link("older than 36 hours")
        await expect(walk.row("Forgotten")).to_have_count(1)
        await expect(walk.row("Fresh")).to_have_count(0)
        await walk.open("Forgotten")
        await walk.step("Back up now", "Back up now", reason=WHY)
        await walk.says("Backup requested")

    walked(live_server.url, operator("operator"), steps)
    assert Backup.objects.get().agent_id == old.pk
    assert Transition.objects.filter(agent=old, note__contains=WHY).exists()
