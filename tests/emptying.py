"""What tests that commit leave behind is taken away: from tables that have rows, without making Django's own anew.

Django's `flush` does all of them and then content types and permissions, which takes a third of a second each time. To
delete a few hundred rows takes a fifth of what TRUNCATE takes, which makes the files of each table and index anew.

What tests roll back stays in the files of the tables as dead rows, half a megabyte of catalog each time: later tests
would read and write beside hundreds of megabytes of them. So now and then a VACUUM takes them away.
"""

from __future__ import annotations

import functools

import psycopg
from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase
from psycopg.errors import DeadlockDetected

TRIES = 3
TESTS_PER_VACUUM = 50
KEPT = {"django_content_type", "auth_permission"}  # as the migrations made them


def install() -> None:
    """For every test of this process that commits."""
    TransactionTestCase._fixture_teardown = _empty  # type: ignore[attr-defined] # where Django flushes


def vacuum() -> None:
    """Shrink the files of the test's database, if there is one; but not of tables that others have locked."""
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
            # Somebody whom the test has just killed may still write to two tables, while we lock the same two.
            if not isinstance(error.__cause__, DeadlockDetected):
                raise
        else:
            return
    _delete()


@transaction.atomic
def _delete() -> None:
    """Once all who write have ended, and in any order: without the triggers that look at keys."""
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
