"""Whose agent a body or a query names."""

from __future__ import annotations

from accounts.models import User
from agents.errors import NoSuchAgent
from agents.models import Agent
from config.errors import Forbidden
from config.ids import is_id


class AnothersAgent(Forbidden):
    def __init__(self, field: str) -> None:
        super().__init__(f"{field}: this agent is another account's; GET /agents lists yours")


def agent_named(user: User, agent_id: str, *, field: str = "agentId") -> Agent:
    """The caller's live agent. Raises NoSuchAgent for an unknown or deleted one, AnothersAgent (design: API)."""
    agent = Agent.objects.live().filter(pk=agent_id).first() if is_id("agt", agent_id) else None
    if agent is None:
        raise NoSuchAgent
    if agent.user_id != user.pk:
        raise AnothersAgent(field)
    return agent
