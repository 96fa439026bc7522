"""An agent's memory on its page."""

from __future__ import annotations

from typing import Any

from accounts.models import User
from agents.models import Agent, Reason
from agents.running import lifecycle
from tests.agents.conftest import GatewayOf, settle
from tests.doubles.bridge import BridgeDouble
from tests.pages.account.visitor import Visitor, text

HOSTILE = "</pre><script>alert(1)</script>"
LEARNED: dict[str, Any] = {
    "skills": ["bread", HOSTILE],
    "memories": [{"name": "USER.md", "content": "likes tea"}, {"name": HOSTILE, "content": HOSTILE}],
    "sessions": 3,
    "is_cut": True,
}


def place(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/memory"


def test_notes_skills_and_soul_are_there_to_read_as_text(
    owner: User, running: Agent, gateway_of: GatewayOf, bridge: BridgeDouble
) -> None:
    Agent.objects.filter(pk=running.pk).update(soul="You are Captain Zorblax.")
    gateway_of(running)
    bridge.memory = LEARNED
    page = Visitor(owner).open(place(running))
    assert "3 conversations 2 skills 2 notes" in text(page)
    assert "There is more than is shown here." in text(page)
    notes, soul = page.all("pre")[:-1], page.all("pre")[-1]
    assert [one.text for one in notes] == ["likes tea", HOSTILE]
    assert soul.text.startswith("You are Captain Zorblax.")
    assert len(page.all("script")) == 1


def test_one_that_cannot_be_asked_says_what_helps(owner: User, running: Agent) -> None:
    visitor = Visitor(owner)
    assert "The agent does not answer and has no backup" in text(visitor.open(place(running), status=409))
    lifecycle.pause(running, reason=Reason.OWNER, actor="user:x")
    settle(running)
    page = visitor.open(place(running), status=409)
    assert "Start it again to see its memory." in text(page)
    assert page.all("a", href=f"/account/agents/{running.pk}", class_="button")


def test_a_strangers_agent_is_not_there(running: Agent, stranger: User) -> None:
    assert Visitor(stranger).client.get(place(running)).status_code == 404
