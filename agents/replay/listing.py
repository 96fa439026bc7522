"""The replay as its owner reads it, newest first."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from django.utils import timezone

from agents.models import Agent
from agents.replay.keeping import KEPT, TEXTS
from agents.replay.models import ID, ReplayEntry
from config import paging
from config.paging import MAX_PAGE, RowPage


def page(
    agent: Agent,
    *,
    first: datetime | None = None,
    last: datetime | None = None,
    session: str | None = None,
    kind: str | None = None,
    fields: Collection[str] | None = None,
    limit: int = MAX_PAGE,
    cursor: str | None = None,
) -> RowPage[ReplayEntry]:
    """One page. `first` and `last` are the times between which something happened, both included. Raises
    UnknownCursor."""
    rows = ReplayEntry.objects.of_agent(agent.pk).filter(created_at__gt=timezone.now() - KEPT)
    if first is not None:
        rows = rows.filter(created_at__gte=first)
    if last is not None:
        rows = rows.filter(created_at__lte=last)
    if session is not None:
        rows = rows.filter(session=session)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if fields is not None and not set(fields) & set(TEXTS):
        rows = rows.defer("texts")  # decrypting them costs time
    narrowed = {
        "from": _written(first),
        "to": _written(last),
        "session": session,
        "kind": kind,
        "fields": ",".join(fields) if fields else None,
    }
    path = f"/agents/{agent.pk}/replay"
    return paging.page(rows, path=path, ids=ID, narrowed=narrowed, limit=limit, cursor=cursor)


def _written(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else None
