"""A query of Django whose SQL is made once per process.

Making SQL of a queryset costs several times what PostgreSQL needs for a row by its key. Reads that clients call all the
time keep the SQL and give it new values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

Converter = Callable[[Any, Any, Any], Any]


class _Compiled(NamedTuple):
    sql: str
    parameters: tuple[Any, ...]
    converters: Sequence[tuple[int, Sequence[Converter], Any]]  # for each column that needs some


class CompiledQuery:
    """`build` makes the queryset, with `values_list`, of text values. Its structure must not depend on them."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], *, values: Sequence[str]) -> None:
        self._build = build
        self._placeholders = {f"value of {name}": name for name in values}

    def rows(self, **values: str) -> list[list[Any]]:
        """The rows for these values, as Python has them: decrypted, parsed."""
        made = self._compiled
        parameters = [
            values[self._placeholders[parameter]] if parameter in self._placeholders else parameter
            for parameter in made.parameters
        ]
        with connection.cursor() as cursor:
            cursor.execute(made.sql, parameters)
            found = [list(row) for row in cursor.fetchall()]
        for row in found:
            for column, converters, expression in made.converters:
                for convert in converters:
                    row[column] = convert(row[column], expression, connection)
        return found

    @functools.cached_property
    def _compiled(self) -> _Compiled:
        query = self._build(**{name: placeholder for placeholder, name in self._placeholders.items()}).query
        compiler = query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        columns = [expression for expression, _, _ in compiler.select]
        converters = compiler.get_converters(columns)
        return _Compiled(sql, tuple(parameters), [(at, found, of) for at, (found, of) in converters.items()])
