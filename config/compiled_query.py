"""A query of Django whose SQL is made once per process.

Making SQL of a queryset costs several times what PostgreSQL needs for a row by its key. Reads that clients call all the
time keep the SQL and give it new values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model, QuerySet

Converter = Callable[[Any, Any, Any], Any]
Row = TypeVar("Row", bound=Model)


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


class CompiledModel(Generic[Row]):
    """The same for one row as an object. `build` makes the queryset of the model.

    `with_related` names a relation whose object comes with it, `annotated` the annotations of the queryset that the
    object gets as attributes, `deferred` the columns that are not read.
    """

    def __init__(
        self,
        model: type[Row],
        build: Callable[..., QuerySet[Row]],
        *,
        values: Sequence[str],
        with_related: str = "",
        annotated: Sequence[str] = (),
        deferred: Collection[str] = (),
    ) -> None:
        self._model, self._relation, self._annotated = model, with_related, annotated
        self._own = [name for name in _columns(model) if name not in deferred]
        self._related: Any = with_related and model._meta.get_field(with_related).related_model  # noqa: SLF001
        self._of_related = _columns(self._related) if self._related else []
        columns = [*self._own, *(f"{with_related}__{name}" for name in self._of_related), *annotated]
        self._query = CompiledQuery(lambda **given: build(**given).values_list(*columns), values=values)

    def first(self, **values: str) -> Row | None:
        """The first row for these values, if there is one."""
        rows = self._query.rows(**values)
        if not rows:
            return None
        own, after = len(self._own), len(self._own) + len(self._of_related)
        found = self._model.from_db(DEFAULT_DB_ALIAS, self._own, rows[0][:own])
        if self._relation:
            related = self._related.from_db(DEFAULT_DB_ALIAS, self._of_related, rows[0][own:after])
            setattr(found, self._relation, related)
        for name, value in zip(self._annotated, rows[0][after:], strict=True):
            setattr(found, name, value)
        return found


def _columns(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]  # noqa: SLF001
