"""Tables without their indexes while millions of rows go in: an index that is made afterwards costs a fraction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connection

# Unique indexes stay: rows are copied with ON CONFLICT, and constraints need them. Indexes of a part of the
# rows stay too: they are small, and PostgreSQL would write their conditions in other words.
_INDEXES = """
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
WHERE i.indrelid = ANY(%s::regclass[]) AND NOT i.indisunique AND i.indpred IS NULL AND i.indislive
"""


@contextmanager
def unchecked() -> Iterator[None]:
    """Within this block PostgreSQL checks no foreign keys and runs no triggers: that would be done for each row."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET session_replication_role")


@contextmanager
def bare(labels: Iterable[str]) -> Iterator[None]:
    """The same, and these models' tables have no indexes within the block but unique and partial ones.

    `labels` are names as `agents.Agent`.
    """
    tables = sorted({apps.get_model(label)._meta.db_table for label in labels})  # noqa: SLF001
    with connection.cursor() as cursor:
        cursor.execute(_INDEXES, [tables])
        indexes: list[tuple[str, str]] = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
    try:
        with unchecked():
            yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET maintenance_work_mem = '256MB'")
            for _, made_by in indexes:
                cursor.execute(made_by)
            cursor.execute("RESET maintenance_work_mem")
