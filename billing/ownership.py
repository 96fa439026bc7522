"""The caller's agent that a body or a query names, and the caller's subscription that a path names."""

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


def agent_named(user: User, agent_id: str, *, field: str = "agentId") -> Agent:
    """The caller's live agent. Raises NoSuchAgent for an unknown or deleted one, AnothersAgent (design: API)."""
    agent = Agent.objects.live().filter(pk=agent_id).first() if is_id("agt", agent_id) else None
    if agent is None:
        raise NoSuchAgent
    if agent.user_id != user.pk:
        raise AnothersAgent(field)
    return agent


def own_subscription(user: User, subscription_id: str) -> Subscription:
    """The caller's subscription. Raises NoSuchSubscription for another's and junk."""
    known = is_id("sub", subscription_id)
    row = Subscription.objects.filter(pk=subscription_id, user=user).first() if known else None
    if row is None:
        raise NoSuchSubscription
    return row
