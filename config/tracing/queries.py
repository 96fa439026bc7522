"""The spans of SQL statements: the statement without its parameters and without the texts in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created

from config import tracing

LONGEST = 1_000  # characters of a statement
_TEXT = re.compile(r"'(?:[^']|'')*'|\b\d{4,}\b")


def follow() -> None:
    connection_created.connect(_install, dispatch_uid="config.tracing")
    for connection in connections.all(initialized_only=True):
        _install(connection)


def _install(connection: Any = None, **_: object) -> None:
    if _traced not in connection.execute_wrappers:
        connection.execute_wrappers.append(_traced)


def _traced(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    recorder = tracing.active()
    known = {"db.system.name": "postgresql", "db.query.text": cleaned(sql)}
    span = recorder.begin_inside(name_of(sql), known) if recorder else None
    if span is None:
        return execute(sql, params, many, context)
    try:
        return execute(sql, params, many, context)
    except BaseException as error:
        span.fail(type(error).__name__)
        raise
    finally:
        span.end()


def name_of(sql: str) -> str:
    """The first word, such as SELECT."""
    return (sql.split(maxsplit=1) or ["SQL"])[0][:20].upper()


def cleaned(sql: str) -> str:
    return _TEXT.sub("?", " ".join(str(sql)[: 4 * LONGEST].split()))[:LONGEST]
