"""What an account has bought: all of it up to 1,000, then pages by a cursor, as agents are listed."""

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
from billing.models import Subscription
from config.errors import BadRequest
from config.ids import is_id

MAX_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Page:
    subscriptions: list[Subscription]
    next_url: str | None


def page(user: User, *, agent: Agent | None = None, limit: int = MAX_PAGE, cursor: str | None = None) -> Page:
    """The account's subscriptions, newest first. Raises BadRequest naming `cursor` when it is not one of ours."""
    found = Subscription.objects.filter(user=user)
    if agent is not None:
        found = found.filter(agent=agent)
    if cursor is not None:
        created_at, row_id = _read(cursor)
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=row_id))
    rows = list(found.order_by("-created_at", "-id")[: limit + 1])
    more = len(rows) > limit
    rows = rows[:limit]
    return Page(rows, _next_url(rows[-1], agent=agent, limit=limit) if more else None)


def _next_url(last: Subscription, *, agent: Agent | None, limit: int) -> str:
    cursor = base64.urlsafe_b64encode(f"{last.created_at.isoformat()}|{last.pk}".encode()).decode()
    query = {"limit": str(limit), "cursor": cursor} | ({"agentId": agent.pk} if agent else {})
    return f"{settings.BASE_URL}/subscriptions?{urlencode(query)}"


def _read(cursor: str) -> tuple[datetime, str]:
    try:
        created_at, row_id = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").split("|")
        moment = datetime.fromisoformat(created_at)
    except (ValueError, binascii.Error) as error:
        raise BadRequest("cursor: not one that this list gave") from error
    if moment.tzinfo is None or not is_id("sub", row_id):
        raise BadRequest("cursor: not one that this list gave")
    return moment, row_id
