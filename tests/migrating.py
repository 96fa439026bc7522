"""Migrates the test's database one old migration at a time, which a new database does with squashed ones instead."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader


def migrate(*to: tuple[str, str]) -> None:
    """Forth or back to these; to the newest where none is named, so that the models can read it."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    executor.migrate(list(to) or executor.loader.graph.leaf_nodes())
