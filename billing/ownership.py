"""Find the agent or subscription that a request names, and check that it belongs to the caller."""

from __future__ import annotations

from accounts.models import User
from agents.errors import NoSuchAgent
from agents.models import Agent
from billing.errors import NoSuchSubscription
from billing.models import Subscription
from config.errors import Forbidden
from config.ids import is_id


class AnothersAgent(Forbidden):
    def __init__(self, field: str) -> None:
        super().__init__(f"{field}: this agent is another account's; GET /agents lists yours")


def agent_named(user: User, agent_id: str, *, only: str | None = None, field: str = "agentId") -> Agent:
    """The caller's agent. `only` is the id of the one agent that the caller may see.

    Raises NoSuchAgent if it is unknown or deleted, AnothersAgent if it belongs to another account.
    """
    seen = Agent.objects.live().seen_by(only)
    agent = seen.filter(pk=agent_id).first() if is_id("agt", agent_id) else None
    if agent is None:
        raise NoSuchAgent
    if agent.user_id != user.pk:
        raise AnothersAgent(field)
    return agent


def own_subscription(user: User, subscription_id: str, *, only: str | None = None) -> Subscription:
    """The caller's subscription. Raises NoSuchSubscription for a malformed id and for another account's too."""
    known = is_id("sub", subscription_id)
    row = Subscription.objects.filter(pk=subscription_id, user=user).first() if known else None
    if row is None or only not in {None, row.agent_id}:
        raise NoSuchSubscription
    return row
