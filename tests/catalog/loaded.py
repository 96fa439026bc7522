"""The built-in catalog in a test's database: loaded by the product once in a process, then copied table by table."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.db import connection, models, transaction

from catalog import files, loading, snapshot
from catalog.models import CatalogVersion, Persona, PersonaDocument, PersonaL10n

MODELS: list[type[models.Model]] = [*files.LISTS.values(), Persona, PersonaL10n, PersonaDocument, CatalogVersion]
TABLES = [model._meta.db_table for model in MODELS]  # Django's public API


@dataclass
class Loaded:
    """What the first load wrote, as PostgreSQL gives and takes it."""

    report: loading.Report
    tables: dict[str, bytes]
    snapshot: snapshot.Snapshot


_loaded: Loaded | None = None


@functools.cache
def contents() -> files.Contents:
    """The data files, read once in a process."""
    return files.read()


def load(contents: files.Contents) -> loading.Report:
    """The same rows as `loading.write(contents)` makes in an empty database, some ten times sooner."""
    global _loaded  # noqa: PLW0603 # of this process
    if _loaded is None:
        report = loading.write(copy.deepcopy(contents))
        _loaded = Loaded(report, {table: _out_of(table) for table in TABLES}, snapshot.look())
    else:
        _restore(_loaded.tables)
    _remember(_loaded.snapshot)
    return copy.deepcopy(_loaded.report)


@dataclass
class Scene:
    """Rows that many tests begin with, and the snapshot that was read of them."""

    tables: dict[str, bytes]
    snapshot: snapshot.Snapshot


_scenes: dict[str, Scene] = {}


def enter(name: str, make: Callable[[], None]) -> None:
    """The built-in catalog and what `make` adds, in the database and in this process's memory, made once in a process.

    Without what searches look through, and without translations, which are in memory: to copy these takes longer than
    all the rest.
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
    _scenes[name] = Scene(rows, snapshot.current())
    _remember(_scenes[name].snapshot)


def _remember(seen: snapshot.Snapshot) -> None:
    """As a process that read the catalog before: it looks at the version at once, and reads only what changed.

    Another object, so that the answers which were made of it under another test's settings are not given again.
    """
    snapshot._holder._snapshot, snapshot._holder._checked_at = replace(seen), 0.0


def _out_of(table: str) -> bytes:
    with connection.cursor() as cursor, cursor.copy(f"COPY (SELECT * FROM {table}) TO STDOUT (FORMAT binary)") as out:
        return b"".join(bytes(piece) for piece in out)


@transaction.atomic
def _restore(tables: dict[str, bytes]) -> None:
    """Without the triggers: what they write is among the tables."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for table, rows in tables.items():
            with cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as into:
                into.write(rows)
        cursor.execute("SET LOCAL session_replication_role = origin")
