"""Lists of an account's subscriptions and orders: up to 1,000 in one answer, or pages with a cursor, like agents."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import QuerySet

from agents.models import Agent
from billing.models import Order, Subscription
from config import paging
from config.paging import MAX_PAGE, RowPage

Bought = TypeVar("Bought", Subscription, Order)


def page(
    rows: QuerySet[Bought],
    *,
    path: str,
    ids: str,
    agent: Agent | None = None,
    status: str | None = None,
    limit: int = MAX_PAGE,
    cursor: str | None = None,
) -> RowPage[Bought]:
    """One page of these rows, newest first, narrowed to an agent and a state. Raises UnknownCursor."""
    if agent is not None:
        rows = rows.filter(agent=agent)
    if status is not None:
        rows = rows.filter(status=status)
    narrowed = {"agentId": agent.pk if agent else None, "status": status}
    return paging.page(rows, path=path, ids=ids, narrowed=narrowed, limit=limit, cursor=cursor)
