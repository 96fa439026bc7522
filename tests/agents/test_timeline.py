"""The timeline has one writer."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone

from agents import timeline
from agents.models import Agent, Reason, Transition
from tests.agents.conftest import MakeAgent
from tests.config.state_machines import PACKAGES, ROOT

pytestmark = pytest.mark.django_db


def test_a_note_keeps_the_status_and_says_who_why_and_when(running: Agent) -> None:
    now = timezone.now()
    timeline.note(running, "looked at", reason=Reason.OPERATOR, actor="operator:1", now=now)
    row = Transition.objects.filter(agent=running).latest("id")
    assert (row.from_status, row.to_status, row.reason) == ("running", "running", "operator")
    assert (row.note, row.actor, row.at) == ("looked at", "operator:1", now)


def test_notes_of_many_agents_are_one_statement(make_agent: MakeAgent, django_assert_num_queries: Any) -> None:
    agents = [make_agent(), make_agent()]
    with django_assert_num_queries(1):
        timeline.note_each(
            [(agent, agent.name) for agent in agents], reason=Reason.QUOTA, actor="quota", now=timezone.now()
        )
    assert Transition.objects.filter(reason=Reason.QUOTA).count() == 2


def test_no_other_code_writes_the_timeline() -> None:
    writes = re.compile(
        r"\bTransition(\.objects\.(bulk_)?create)?\($|\bTransition(\.objects\.(bulk_)?create)?\(\w", re.MULTILINE
    )
    found = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts and writes.search(path.read_text().replace("class Transition(", ""))
    }
    assert found == {"agents/timeline.py"}
