"""SQL statements of our own, for what Django's queries cannot say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

Values = Sequence[Any] | Mapping[str, Any] | None


def execute(statement: str, values: Values = None) -> int:
    """Run the statement. Returns how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def rows(statement: str, values: Values = None) -> list[tuple[Any, ...]]:
    """Run the statement. Returns its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found
