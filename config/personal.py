"""What every app's `personal` module yields for the file that a person takes along: names of lists, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

MOST = 5_000  # rows of a list: the newest

Row = Mapping[str, Any]
Section = tuple[str, Iterable[Row]]


def rows(found: QuerySet[Any], *columns: str) -> list[Row]:
    """These columns and no others: a secret that is added to a table later does not get into the file by itself."""
    return list(found.values(*columns)[: MOST + 1])
