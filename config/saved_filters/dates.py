"""Ranges of dates in saved filters: “Last 24 hours” must mean tomorrow's last 24 hours tomorrow.

Django's filters of dates have fixed moments in their addresses. A range that goes with the clock is stored by its name
instead, and the list's own filter says its moments when the saved filter is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin import DateFieldListFilter
from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime

MOVING = ("Today", "Last 24 hours", "Past 7 days", "This month", "This year")
SLACK = timedelta(hours=2)  # the link may have been made in the hour, or the day, before


def split(specs: Iterable[Any], query: QueryDict) -> tuple[QueryDict, dict[str, str]]:
    """The query without its ranges that move, and the names of these ranges by column."""
    rest, moving = query.copy(), {}
    for spec in _of_dates(specs):
        for name, bounds in _ranges(spec):
            if _is_about(spec.date_params, bounds):
                moving[spec.field_path] = name
                for key in bounds:
                    rest.pop(key, None)
                break
    return rest, moving


def joined(specs: Iterable[Any], query: str, moving: Mapping[str, str]) -> str:
    """The query with the moments of its ranges as they are now."""
    found = QueryDict(query, mutable=True)
    for spec in _of_dates(specs):
        for name, bounds in _ranges(spec):
            if moving.get(spec.field_path) == name:
                found.update(bounds)
    return found.urlencode()


def _of_dates(specs: Iterable[Any]) -> Iterator[DateFieldListFilter]:
    return (spec for spec in specs if isinstance(spec, DateFieldListFilter))


def _ranges(spec: DateFieldListFilter) -> Iterator[tuple[str, dict[str, str]]]:
    named = {str(title): {key: str(value) for key, value in bounds.items()} for title, bounds in spec.links}
    return ((name, named[name]) for name in MOVING if named.get(name))


def _is_about(chosen: Mapping[str, Any], bounds: Mapping[str, str]) -> bool:
    if set(chosen) != set(bounds):
        return False
    pairs = [(_moment(chosen[key]), _moment(bounds[key])) for key in bounds]
    return all(one and other and _apart(one, other) <= SLACK for one, other in pairs)


def _apart(one: datetime, other: datetime) -> timedelta:
    return abs(one.replace(tzinfo=None) - other.replace(tzinfo=None))


def _moment(text: Any) -> datetime | None:
    try:
        day = parse_date(str(text))
        return datetime(day.year, day.month, day.day) if day else parse_datetime(str(text))  # noqa: DTZ001
    except ValueError:
        return None
