"""Deletes old figures."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from config import sql

# Long enough to compare a month with the same month of the year before.
KEPT = timedelta(days=400)
# A pod that was not heard of for so long is gone, and so is its book.
BOOK_KEPT = timedelta(days=90)
FORGOTTEN_AT_ONCE = 20_000


_FORGET = "DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE {1} < %s ORDER BY {1} LIMIT %s)"


def forget(*, now: datetime) -> None:
    """Delete what is too old, in parts: each statement is a transaction of its own."""
    _forget("agents_modelusage", "day", (now - KEPT).date())
    _forget("agents_keyusage", "day", (now - KEPT).date())
    _forget("agents_spentday", "day", (now - KEPT).date())
    _forget("agents_spendingbook", "read_at", now - BOOK_KEPT)


def _forget(table: str, column: str, before: date | datetime) -> None:
    statement = _FORGET.format(table, column)
    while sql.execute(statement, [before, FORGOTTEN_AT_ONCE]) == FORGOTTEN_AT_ONCE:
        pass
