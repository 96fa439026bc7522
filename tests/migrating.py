"""Migrates the test's database to old migrations one by one. A new database uses the squashed migrations instead."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader


def migrate(*to: tuple[str, str]) -> None:
    """Migrate forwards or backwards to these migrations, or to the newest ones, which the models need."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    executor.migrate(list(to) or executor.loader.graph.leaf_nodes())
