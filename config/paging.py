"""Pages of long lists: newest first, as many rows as asked for, and a cursor for the next page.

A cursor names the last row of the page, so new rows do not move the next page. The table of a list needs an index on
its owner column, `-created_at` and `-id`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import Model, Q, QuerySet

from config.errors import BadRequest
from config.ids import is_id

MAX_PAGE = 1_000
MAX_CURSOR = 200  # characters

Row = TypeVar("Row", bound=Model)


class UnknownCursor(BadRequest):
    message = "cursor: not one that this list gave; leave it out to begin with the newest"


@dataclass(frozen=True, slots=True)
class RowPage(Generic[Row]):
    rows: list[Row]
    cursor: str | None  # of the next page; None on the last page
    next_url: str | None

    @property
    def headers(self) -> dict[str, str]:
        return {"Link": f'<{self.next_url}>; rel="next"'} if self.next_url else {}


def page(
    rows: QuerySet[Row],
    *,
    path: str,
    ids: str,
    narrowed: Mapping[str, str | None],
    limit: int = MAX_PAGE,
    cursor: str | None = None,
) -> RowPage[Row]:
    """One page of the rows. `ids` is the prefix of their ids, `narrowed` are the other query parameters of `path`.

    Raises UnknownCursor.
    """
    if cursor is not None:
        rows = rows.filter(_after(cursor, ids))
    found = list(rows.order_by("-created_at", "-id")[: limit + 1])
    shown = found[:limit]
    more = len(found) > limit
    if not more:
        return RowPage(shown, None, None)
    following = _cursor_of(shown[-1])
    return RowPage(shown, following, _next_url(following, path=path, narrowed=narrowed, limit=limit))


def _after(cursor: str, ids: str) -> Q:
    try:
        created_at, row_id = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").split("|")
        moment = datetime.fromisoformat(created_at)
    except (ValueError, binascii.Error) as error:
        raise UnknownCursor from error
    if moment.tzinfo is None or not is_id(ids, row_id):
        raise UnknownCursor
    return Q(created_at__lt=moment) | Q(created_at=moment, id__lt=row_id)


def _cursor_of(last: Model) -> str:
    created_at: datetime = last.created_at  # type: ignore[attr-defined]  # the rows of every list have it
    return base64.urlsafe_b64encode(f"{created_at.isoformat()}|{last.pk}".encode()).decode()


def _next_url(cursor: str, *, path: str, narrowed: Mapping[str, str | None], limit: int) -> str:
    asked = {name: value for name, value in narrowed.items() if value is not None}
    return f"{settings.BASE_URL}{path}?{urlencode({'limit': str(limit), 'cursor': cursor, **asked})}"
