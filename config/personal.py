"""What the `personal` module of each app returns for a person's data export: names of lists, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

MOST = 5_000  # rows of a list: the newest ones

Row = Mapping[str, Any]
Section = tuple[str, Iterable[Row]]


def rows(found: QuerySet[Any], *columns: str) -> list[Row]:
    """Only these columns: a secret column that is added to a table later does not get into the export by itself."""
    return list(found.values(*columns)[: MOST + 1])
