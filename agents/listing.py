"""The owner's list: all agents up to 1,000, then pages by a cursor, never a silent cut."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Q

from accounts.models import User
from agents.models import Agent
from config.errors import BadRequest
from config.ids import is_id

MAX_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Page:
    agents: list[Agent]
    next_url: str | None


def page(user: User, *, status: str | None = None, limit: int = MAX_PAGE, cursor: str | None = None) -> Page:
    """The caller's agents, newest first. Raises BadRequest naming `cursor` when it is not one of ours."""
    found = Agent.objects.owned_by(user.pk).live().select_related("hook", "quota_snapshot")
    if status is not None:
        found = found.filter(status=status)
    if cursor is not None:
        created_at, agent_id = _read(cursor)
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=agent_id))
    agents = list(found.order_by("-created_at", "-id")[: limit + 1])
    more = len(agents) > limit
    agents = agents[:limit]
    return Page(agents, _next_url(agents[-1], status=status, limit=limit) if more else None)


def _next_url(last: Agent, *, status: str | None, limit: int) -> str:
    cursor = base64.urlsafe_b64encode(f"{last.created_at.isoformat()}|{last.id}".encode()).decode()
    query = {"limit": limit, "cursor": cursor} | ({"status": status} if status else {})
    return f"{settings.BASE_URL}/agents?{urlencode(query)}"


def _read(cursor: str) -> tuple[datetime, str]:
    try:
        created_at, agent_id = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").split("|")
        moment = datetime.fromisoformat(created_at)
    except (ValueError, binascii.Error) as error:
        raise BadRequest("cursor: not one that this list gave") from error
    if moment.tzinfo is None or not is_id("agt", agent_id):
        raise BadRequest("cursor: not one that this list gave")
    return moment, agent_id
