"""Searches a list of the console, so that a table with a million rows answers at once.

Django's own search looks for the term in the middle of every column, also of joined tables, without regard to case. No
index helps there. Here ids are compared as they are, and a column of another table is looked up in that table first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import CharField, ForeignKey, ManyToOneRel, Model, Q, QuerySet

MOST_TERMS = 5
MOST_RELATED = 1_000  # rows of another table that one term finds
WHOLE_ID = re.compile(r"[a-z]{3}_[0-9a-f]{24,32}")


def found(rows: QuerySet[Any], fields: Sequence[str], text: str, *, cut: Callable[[], None]) -> QuerySet[Any]:
    """The rows in which each word of the text is found, in any of these fields.

    Calls `cut` if a word finds more than MOST_RELATED rows of another table, and so perhaps not all rows. A field is
    searched from its beginning if it is an id or if its name begins with `^`, otherwise also in its middle.
    """
    for term in text.split()[:MOST_TERMS]:
        rows = rows.filter(_any_of(rows.model, fields, term, cut))
    return rows


def _any_of(model: type[Model], fields: Sequence[str], term: str, cut: Callable[[], None]) -> Q:
    """A whole id is looked for in ids alone: a list of agents has names too, which would all be read."""
    ids = [name for name in fields if _is_id(model, name.removeprefix("^"))] if WHOLE_ID.fullmatch(term) else []
    return reduce(or_, (_matches(model, name, term, cut) for name in ids or fields))


def _matches(model: type[Model], name: str, term: str, cut: Callable[[], None]) -> Q:
    path, begins = name.removeprefix("^"), "^" if name.startswith("^") else ""
    first, _, rest = path.partition("__")
    if not rest:
        return _own(model, path, term, begins=bool(begins))
    field: Any = model._meta.get_field(first)  # noqa: SLF001  # Django's documented way to a field
    if isinstance(field, ForeignKey) and rest == field.target_field.name and not field.target_field.is_relation:
        return _id(name, term)  # the row itself has this id: no join
    column = field.field.attname if isinstance(field, ManyToOneRel) else "pk"
    related = field.related_model._base_manager.filter(_matches(field.related_model, f"{begins}{rest}", term, cut))  # noqa: SLF001
    keys = list(related.order_by().values_list(column, flat=True)[: MOST_RELATED + 1])
    if len(keys) > MOST_RELATED:
        cut()
    return Q(**{f"{'pk' if isinstance(field, ManyToOneRel) else first}__in": keys[:MOST_RELATED]})


def _own(model: type[Model], name: str, term: str, *, begins: bool) -> Q:
    if _is_id(model, name):
        return _id(name, term)
    return Q(**{f"{name}__startswith" if begins else f"{name}__icontains": term})


def _id(name: str, term: str) -> Q:
    return Q(**{name if WHOLE_ID.fullmatch(term) else f"{name}__startswith": term})


def _is_id(model: type[Model], path: str) -> bool:
    """Whether the path leads to a column with ids."""
    field: Any = None
    for name in path.split("__"):
        field = model._meta.get_field(name)  # noqa: SLF001
        model = field.related_model or model
    return (isinstance(field, CharField) and field.primary_key) or isinstance(field, ForeignKey)
