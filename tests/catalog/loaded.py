"""The built-in catalog in a test's database: the product loads it once per process, then tests copy its tables."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.db import connection, models, transaction

from catalog import files, loading, snapshot
from catalog.models import CatalogVersion, Persona, PersonaDocument, PersonaL10n

MODELS: list[type[models.Model]] = [*files.LISTS.values(), Persona, PersonaL10n, PersonaDocument, CatalogVersion]
TABLES = [model._meta.db_table for model in MODELS]  # part of Django's public API


@dataclass
class Loaded:
    """The rows of the first load, in PostgreSQL's format for COPY."""

    report: loading.Report
    tables: dict[str, bytes]
    snapshot: snapshot.Snapshot


_loaded: Loaded | None = None


@functools.cache
def contents() -> files.Contents:
    """The data files, read once in a process."""
    return files.read()


def load(contents: files.Contents) -> loading.Report:
    """Write the same rows as `loading.write(contents)` into an empty database, about ten times faster."""
    global _loaded  # noqa: PLW0603 # of this process
    if _loaded is None:
        report = loading.write(copy.deepcopy(contents))
        _loaded = Loaded(report, {table: _out_of(table) for table in TABLES}, snapshot.look())
    else:
        _restore(_loaded.tables)
    _remember(_loaded.snapshot)
    return copy.deepcopy(_loaded.report)


@dataclass
class LoadedRows:
    """Rows with which many tests begin, and the snapshot read from them."""

    tables: dict[str, bytes]
    snapshot: snapshot.Snapshot


_scenes: dict[str, LoadedRows] = {}


def enter(name: str, make: Callable[[], None]) -> None:
    """Put the built-in catalog and the rows of `make` into the database and this process's memory, made once per
    process.

    The search index and the translations are left out, because copying them takes longer than everything else.
    Translations are still in memory.
    """
    if scene := _scenes.get(name):
        _restore(scene.tables)
        _remember(scene.snapshot)
        return
    load(contents())
    make()
    snapshot.forget()
    left_out = {PersonaDocument._meta.db_table, PersonaL10n._meta.db_table}
    rows = {table: _out_of(table) for table in TABLES if table not in left_out}
    _scenes[name] = LoadedRows(rows, snapshot.current())
    _remember(_scenes[name].snapshot)


def _remember(seen: snapshot.Snapshot) -> None:
    """Behave like a process that read the catalog before: the next use checks the version and reads only changed rows.

    The snapshot is a new object, so that answers cached under another test's settings are not used again.
    """
    snapshot._holder._snapshot, snapshot._holder._checked_at = replace(seen), 0.0


def _out_of(table: str) -> bytes:
    with connection.cursor() as cursor, cursor.copy(f"COPY (SELECT * FROM {table}) TO STDOUT (FORMAT binary)") as out:
        return b"".join(bytes(piece) for piece in out)


@transaction.atomic
def _restore(tables: dict[str, bytes]) -> None:
    """Copy the rows with the triggers off: the rows that triggers write are already among the tables."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table, rows in tables.items():
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as into:
                into.write(rows)
        cursor.execute("SET LOCAL session_replication_role = origin")
