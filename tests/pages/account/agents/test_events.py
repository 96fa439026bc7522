"""An agent's events and resource use on its pages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from agents.models import Agent, AgentQuota, Reason
from agents.replay import recording
from agents.running import lifecycle
from tests.agents.conftest import settle
from tests.pages.account.visitor import Visitor, statements, text
from tests.pages.page import Page
from webhooks import events
from webhooks.event_types import EventType

MIB = 1 << 20


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def place(agent: Agent, page: str = "events") -> str:
    return f"/account/agents/{agent.pk}/{page}"


def emit(agent: Agent, kind: EventType, **data: Any) -> None:
    events.emit(agent, kind, data, now=timezone.now())


def told(page: Page) -> list[str]:
    """The texts of the timeline, newest first."""
    [timeline] = page.all("ol", class_="plain timeline")
    return [one.text.strip() for one in page.all("p") if any(up is timeline for up in one.within)]


def test_events_are_told_in_words_the_newest_first(visitor: Visitor, running: Agent) -> None:
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    settle(running)
    lifecycle.resume(running, actor="user:x")
    settle(running)
    paid = {"provider": "usdc", "paidTill": "2026-12-28T12:00:00Z"}
    emit(running, EventType.PAYMENT_CONFIRMED, **paid)
    emit(running, EventType.PAYMENT_CONFIRMED, **(paid | {"paidTill": "9999-12-31T00:00:00Z", "provider": "internal"}))
    emit(running, EventType.DELETION_WARNING, daysLeft=1, keptDays=7)
    emit(running, EventType.DELETION_WARNING, daysLeft=None, keptDays=7)
    emit(running, EventType.AGENT_FAILED, **{"from": "running", "to": "failed"})
    emit(running, EventType.AGENT_RUNNING, **{"from": "failed", "to": "running"})
    emit(running, EventType.AGENT_RUNNING, reason="domain-lost", domain="bot.example.org", to="running")
    emit(running, EventType.TEST, note="x")
    lines = told(visitor.open(place(running)))
    assert lines[-3:] == [
        "The agent was started again.",
        "The agent stopped. You paused it. Its data is kept.",
        "The agent started for the first time.",
    ]
    assert lines[:-3] == [
        "A test was sent to the webhook.",
        "Another account proved that the domain bot.example.org is theirs and has it now.",
        "The agent runs again after a failure.",
        "The agent could not be started.",
        "It was not paid for and has stopped. Its data is kept for 7 days.",
        "It stops in 1 day unless it is paid for.",
        "The agent was paid for by us.",
        "A payment came in with USDC: paid until Dec. 28, 2026.",
    ]


def test_who_switched_and_deleted_the_replay_is_told(visitor: Visitor, running: Agent) -> None:
    recording.switch(running, is_on=False, actor="key:key_5f0c9d2e")
    recording.delete(running, session="ses_1", actor="user:usr_1")
    recording.delete(running, actor="key:key_5f0c9d2e")
    assert told(visitor.open(place(running)))[:3] == [
        "The API key key_5f0c9d2e deleted the replay.",
        "You deleted the replay of a conversation.",
        "The API key key_5f0c9d2e switched the recording of the replay off.",
    ]


def test_every_reason_to_stop_is_told(visitor: Visitor, running: Agent) -> None:
    for reason in (Reason.OPERATOR, Reason.TRIAL, Reason.PAYMENT, Reason.QUOTA, Reason.SUSPENDED):
        emit(running, EventType.AGENT_STOPPED, reason=reason, to="stopped")
        assert len(told(visitor.open(place(running)))[0]) > len("The agent stopped. ")


def test_events_have_pages_and_a_fixed_number_of_queries(visitor: Visitor, running: Agent) -> None:
    for_one = statements(visitor, place(running))
    for number in range(60):
        emit(running, EventType.DELETION_WARNING, daysLeft=number + 100, keptDays=7)
    page = visitor.open(place(running))
    first = told(page)
    rest = told(visitor.open(page.one("a", rel="next").attributes["href"]))
    assert (len(first), len(rest)) == (50, 11)
    assert [one.split()[3] for one in [*first, *rest[:-1]]] == [str(100 + left) for left in reversed(range(60))]
    assert statements(visitor, place(running)) == for_one
    for junk in ("junk", "%00", "evt_" + "0" * 32):
        assert visitor.client.get(f"{place(running)}?before={junk}").status_code == 400


def test_usage_is_drawn_and_written_beside_it(visitor: Visitor, running: Agent) -> None:
    assert "Nothing was measured yet." in text(visitor.open(place(running, "usage")))
    now = timezone.now()
    taken = AgentQuota.objects.create(
        agent=running, memory_used_bytes=256 * MIB, memory_limit_bytes=512 * MIB, disk_used_bytes=1230 * MIB,
        disk_total_bytes=1024 * MIB, status="grace", since=now, updated_at=now,
    )  # fmt: skip
    page = visitor.open(place(running, "usage"))
    said = text(page).replace("\xa0", " ")
    assert "Memory 256.0 MB of 512.0 MB, 50 %" in said
    assert "Disk 1.2 GB of 1.0 GB, 120 %" in said
    assert "Memory or disk is full. The agent will be stopped on" in said
    assert [(one.attributes["class"], one.attributes["width"]) for one in page.all("rect")] == [
        ("whole", "100"), ("used ", "50"), ("whole", "100"), ("used full", "100"),
    ]  # fmt: skip
    AgentQuota.objects.filter(pk=taken.pk).update(
        updated_at=now - timedelta(minutes=6), disk_total_bytes=None, status="ok"
    )
    page = visitor.open(place(running, "usage"))
    assert "Last measured:" in text(page)
    assert "Disk" not in text(page)


def test_a_strangers_agent_is_not_there(running: Agent, stranger: User) -> None:
    other = Visitor(stranger).client
    for page in ("events", "usage"):
        assert other.get(place(running, page)).status_code == 404
