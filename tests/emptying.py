"""Deletes the rows that committing tests leave behind: only from tables that have rows, and without Django's own rows.

Django's `flush` empties all tables and then creates content types and permissions again, which takes a third of a
second each time. TRUNCATE creates the files of each table and index again: deleting a few hundred rows takes only a
fifth of that time.

The rows that tests roll back stay in the tables' files as dead rows, half a megabyte of catalog each time. Later tests
would have to pass hundreds of megabytes of them. So VACUUM runs now and then.
"""

from __future__ import annotations

import functools

import psycopg
from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase
from psycopg.errors import DeadlockDetected

TRIES = 3
TESTS_PER_VACUUM = 50
# Rows that the migrations created.
KEPT = {"django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}


def install() -> None:
    """Use this deletion for every committing test of this process."""
    TransactionTestCase._fixture_teardown = _empty  # type: ignore[attr-defined] # where Django flushes


def vacuum() -> None:
    """Shrink the files of the test's database, if there is one. Skips tables that are locked by others."""
    at = connection.settings_dict
    if connection.connection is None or connection.in_atomic_block:
        return
    with psycopg.connect(
        host=at["HOST"],
        port=at["PORT"] or None,
        user=at["USER"],
        password=at["PASSWORD"],
        dbname=at["NAME"],
        autocommit=True,
    ) as own:
        own.execute("VACUUM (SKIP_LOCKED, PARALLEL 0)")


def _empty(_: TransactionTestCase) -> None:
    for _again in range(TRIES - 1):
        try:
            _delete()
        except OperationalError as error:
            # A process that the test has just killed may still write to two tables while we lock them.
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
        else:
            return
    _delete()


@transaction.atomic
def _delete() -> None:
    """Delete all rows once all writers have ended. Any order works, because foreign keys are not checked meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(_filled())
        filled = [table for (table,) in cursor.fetchall()]
        if not filled:
            return
        cursor.execute(f"LOCK TABLE {', '.join(filled)} IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("; ".join(f"DELETE FROM {table}" for table in filled))
        cursor.execute("SET LOCAL session_replication_role = origin")


@functools.cache
def _filled() -> str:
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - KEPT
    return " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in sorted(tables))
