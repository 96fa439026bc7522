"""What an account has bought: all of it up to 1,000, then pages by a cursor, as agents are listed."""

from __future__ import annotations

from accounts.models import User
from agents.models import Agent
from billing.models import Subscription
from config import paging
from config.paging import MAX_PAGE, Page


def page(
    user: User, *, agent: Agent | None = None, limit: int = MAX_PAGE, cursor: str | None = None
) -> Page[Subscription]:
    """The account's subscriptions, newest first. Raises UnknownCursor."""
    found = Subscription.objects.filter(user=user)
    if agent is not None:
        found = found.filter(agent=agent)
    narrowed = {"agentId": agent.pk if agent else None}
    return paging.page(found, path="/subscriptions", ids="sub", narrowed=narrowed, limit=limit, cursor=cursor)
