"""An agent's memory and disk use over time, on its page: a chart drawn by the server, and a table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts.models import User
from agents.models import Agent, AgentQuota, UsageHour
from tests.pages.account.visitor import Visitor, statements, text
from tests.pages.page import Element, Page

MIB, HOUR, DAY = 1 << 20, timedelta(hours=1), timedelta(days=1)
NOW = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
THIS_HOUR = NOW.replace(minute=0)


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def visitor(noon: None, owner: User) -> Visitor:
    return Visitor(owner)


def place(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/usage"


def took(agent: Agent, at: datetime, *, memory: int | None = None, disk: int | None = None) -> None:
    """Record an hour of use: percent of a plan with 100 MiB of memory and 1,000 MiB of disk."""
    UsageHour.objects.create(
        agent=agent,
        at=at,
        memory_used_bytes=None if memory is None else memory * MIB,
        memory_limit_bytes=100 * MIB,
        disk_used_bytes=None if disk is None else disk * 10 * MIB,
        disk_total_bytes=1000 * MIB,
    )


def path(page: Page, span: str, thing: str) -> str:
    (found,) = [
        one for one in page.all("path") if one.has(thing) and _inside(one, span) and one.attributes["d"] != "M0 4H32"
    ]
    return found.attributes["d"]


def _inside(one: Element, section: str) -> bool:
    return any(parent.attributes.get("id") == section for parent in one.within)


def rows(page: Page, span: str) -> list[str]:
    cells = [one for one in page.elements if one.tag in {"th", "td"} and _inside(one, span)]
    found: dict[int, list[str]] = {}
    for one in cells:
        found.setdefault(id(one.within[-1]), []).append(" ".join(one.text.split()).replace("\xa0", " "))
    return [" | ".join(row) for row in found.values()][1:]


def test_a_step_for_each_hour_joined_where_hours_follow_and_nothing_where_nothing_was_measured(
    visitor: Visitor, running: Agent
) -> None:
    took(running, THIS_HOUR - 23 * HOUR, memory=40, disk=10)
    took(running, THIS_HOUR - 22 * HOUR, memory=70, disk=10)
    took(running, THIS_HOUR - 2 * HOUR, memory=150)
    page = visitor.open(place(running))
    assert path(page, "day", "memory") == "M0 60H1V30H2M21 0H22"
    assert path(page, "day", "disk") == "M0 90H1V90H2"
    assert rows(page, "day") == [
        "Nov. 21, 2026, 10:00 UTC | 150 % (150.0 MB) | –",
        "Nov. 20, 2026, 14:00 UTC | 70 % (70.0 MB) | 10 % (100.0 MB)",
        "Nov. 20, 2026, 13:00 UTC | 40 % (40.0 MB) | 10 % (100.0 MB)",
    ]
    (told,) = [one.attributes["aria-label"] for one in page.all("svg", role="img") if _inside(one, "day")]
    assert told == "Memory: highest 150 %, latest 150 %. Disk: highest 10 %, latest 10 %. "


def test_the_month_has_the_fullest_of_each_six_hours_and_a_row_a_day(visitor: Visitor, running: Agent) -> None:
    first = NOW.replace(hour=0, minute=0) - 29 * DAY
    for hours, memory in ((0, 20), (5, 60), (6, 30), (23, 10)):
        took(running, first + hours * HOUR, memory=memory, disk=1)
    page = visitor.open(place(running))
    assert path(page, "month", "memory") == "M0 40H1V70H2M3 90H4"
    assert rows(page, "month") == ["Oct. 23, 2026 | 60 % (60.0 MB) | 1 % (10.0 MB)"]
    assert not page.all("section", id="day"), "nothing was measured since yesterday"


def test_what_was_never_measured_has_no_line_and_no_column(visitor: Visitor, running: Agent) -> None:
    took(running, THIS_HOUR, memory=5)
    page = visitor.open(place(running))
    assert rows(page, "day") == ["Nov. 21, 2026, 12:00 UTC | 5 % (5.0 MB)"]
    assert "Disk" not in text(page)


def test_the_running_hour_is_drawn_before_it_is_over(visitor: Visitor, running: Agent) -> None:
    AgentQuota.objects.create(
        agent=running, memory_used_bytes=1 * MIB, memory_limit_bytes=4 * MIB, disk_used_bytes=0, disk_total_bytes=9,
        hour_memory_bytes=2 * MIB, hour_disk_bytes=0, since=NOW, updated_at=NOW,
    )  # fmt: skip
    page = visitor.open(place(running))
    assert path(page, "day", "memory") == "M23 50H24"
    assert path(page, "month", "memory") == "M118 50H119", "of the day that is not over"


def test_an_hour_that_has_not_begun_here_is_not_drawn_beside_the_plot(visitor: Visitor, running: Agent) -> None:
    took(running, THIS_HOUR, memory=5)
    AgentQuota.objects.create(
        agent=running, memory_used_bytes=1, memory_limit_bytes=4, disk_used_bytes=0, disk_total_bytes=9,
        hour_memory_bytes=2, hour_disk_bytes=0, since=NOW, updated_at=THIS_HOUR + 13 * HOUR,
    )  # fmt: skip
    page = visitor.open(place(running))
    assert path(page, "day", "memory") == "M23 95H24"
    assert rows(page, "month") == ["Nov. 21, 2026 | 5 % (5.0 MB)"]


def test_without_a_history_no_plot_is_there(visitor: Visitor, running: Agent) -> None:
    assert not visitor.open(place(running)).all("figure")


def test_it_asks_no_more_for_a_month_than_for_an_hour(visitor: Visitor, running: Agent) -> None:
    took(running, THIS_HOUR, memory=1, disk=1)
    for_one = statements(visitor, place(running))
    for hours in range(1, 720):
        took(running, THIS_HOUR - hours * HOUR, memory=50, disk=50)
    assert statements(visitor, place(running)) == for_one
    assert len(visitor.client.get(place(running)).content) < 60_000
