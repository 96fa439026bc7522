"""Reads rows of several tables as they were at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def consistent_read() -> Iterator[None]:
    """All reads inside this block see one moment, even if others write meanwhile. Nothing is locked, writes fail.

    Inside a transaction it does nothing: a writer locks the rows that must not change.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
