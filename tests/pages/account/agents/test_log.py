from __future__ import annotations

import pytest

from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import GatewayOf, MakeAgent
from tests.pages.account.visitor import Visitor, text


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


def test_what_the_pod_says_is_shown(visitor: Visitor, running: Agent, gateway_of: GatewayOf) -> None:
    gateway_of(running)
    page = visitor.open(f"/account/agents/{running.pk}/log")
    assert "the gateway runs" in page.one("pre").text
    assert "The newest lines" in text(page)


def test_an_agent_whose_pod_does_not_answer_says_so(visitor: Visitor, make_agent: MakeAgent) -> None:
    page = visitor.open(f"/account/agents/{make_agent().pk}/log")
    assert "The agent does not answer" in text(page)
    assert "There are no lines yet." in text(page)


def test_a_strangers_log_is_not_there(running: Agent, stranger: User) -> None:
    assert Visitor(stranger).client.get(f"/account/agents/{running.pk}/log").status_code == 404
