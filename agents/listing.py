"""The owner's list of agents: up to 1,000 on one page, then more pages by a cursor. Nothing is cut off silently."""

from __future__ import annotations

from accounts.models import User
from agents.models import Agent
from config import paging
from config.paging import MAX_PAGE, RowPage


def page(user: User, *, status: str | None = None, limit: int = MAX_PAGE, cursor: str | None = None) -> RowPage[Agent]:
    """The caller's agents, newest first. Raises UnknownCursor."""
    found = Agent.objects.owned_by(user.pk).live().select_related("hook", "quota_snapshot")
    found = found.defer("gateway_key", "gateway_certificate")  # not shown, and decrypting a thousand of them costs time
    if status is not None:
        found = found.filter(status=status)
    return paging.page(found, path="/agents", ids="agt", narrowed={"status": status}, limit=limit, cursor=cursor)
