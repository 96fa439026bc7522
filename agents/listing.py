"""The owner's list of agents: up to 1,000 on one page, then more pages by a cursor. Nothing is cut off silently."""

from __future__ import annotations

from collections.abc import Collection

from accounts.models import User
from agents.models import Agent
from config import paging
from config.paging import MAX_PAGE, RowPage


def page(
    user: User,
    *,
    only: str | None = None,
    status: str | None = None,
    fields: Collection[str] | None = None,
    limit: int = MAX_PAGE,
    cursor: str | None = None,
) -> RowPage[Agent]:
    """The caller's agents, newest first. The link to the next page chooses the same `fields`. Raises UnknownCursor.

    `only` is the id of the one agent that the caller may see.
    """
    found = Agent.objects.owned_by(user.pk).live().seen_by(only).select_related("hook", "quota_snapshot")
    found = found.defer("gateway_key", "gateway_certificate")  # not shown, and decrypting a thousand of them costs time
    if status is not None:
        found = found.filter(status=status)
    narrowed = {"status": status, "fields": ",".join(fields) if fields else None}
    return paging.page(found, path="/agents", ids="agt", narrowed=narrowed, limit=limit, cursor=cursor)
