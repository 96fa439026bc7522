"""Saves, changes and deletes a person's filters. A saved filter gives no right: it is an address of a list."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import unquote_plus

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.http import urlencode

from config import audit, sql
from config.errors import Conflict, NotFound
from config.saved_filters.models import SavedFilter

MOST = 50  # of one person, on all lists together
MOST_SHARED = 50  # of colleagues, that a list shows


class TooManyFilters(Conflict):
    message = f"You have {MOST} saved filters. Delete one of them first."


class NameTaken(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"You have another filter {name!r} on this list.")


class NoSuchFilter(NotFound):
    message = "no such saved filter"


def usable(by: Any, listed: str) -> QuerySet[SavedFilter]:
    """This list's filters of the person, and those that colleagues share who are still operators."""
    shared = Q(is_shared=True, owner__is_active=True, owner__is_staff=True)
    return SavedFilter.objects.filter(Q(owner=by) | shared, listed=listed).select_related("owner")


def shown(by: Any, listed: str) -> list[SavedFilter]:
    """Those of `usable` that the list shows: the person's own first."""
    rows = usable(by, listed)
    return [*rows.filter(owner=by)[:MOST], *rows.exclude(owner=by)[:MOST_SHARED]]


@transaction.atomic
def save(
    by: Any, *, listed: str, name: str, query: str, moving: Mapping[str, str], is_shared: bool, now: datetime
) -> SavedFilter:
    """Save the filter. One of this name on this list is replaced, so that sending the form twice is harmless.

    Raises TooManyFilters.
    """
    _alone(by)
    mine = SavedFilter.objects.filter(owner=by)
    row = mine.filter(listed=listed, name=name).first()
    verb = "Replaced a saved filter" if row else "Saved a filter"
    if row is None and mine.count() >= MOST:
        raise TooManyFilters
    row = row or SavedFilter(owner=by, listed=listed, name=name, created_at=now)
    row.query, row.moving, row.is_shared = query, dict(moving), is_shared
    row.save()
    _note(verb, row)
    return row


@transaction.atomic
def change(by: Any, filter_id: str, *, listed: str, name: str, is_shared: bool) -> SavedFilter:
    """Give one of the person's own filters another name, or share it, or end that. Raises NoSuchFilter, NameTaken."""
    _alone(by)
    row = own(by, filter_id, listed=listed)
    if SavedFilter.objects.filter(owner=by, listed=listed, name=name).exclude(pk=row.pk).exists():
        raise NameTaken(name)
    row.name, row.is_shared = name, is_shared
    row.save(update_fields=["name", "is_shared"])
    _note("Changed a saved filter", row)
    return row


@transaction.atomic
def delete(by: Any, filter_id: str, *, listed: str) -> None:
    """Delete one of the person's own filters. Raises NoSuchFilter."""
    row = own(by, filter_id, listed=listed)
    _note("Deleted a saved filter", row)
    row.delete()


def own(by: Any, filter_id: str, *, listed: str) -> SavedFilter:
    row = SavedFilter.objects.filter(owner=by, listed=listed, pk=filter_id).first()
    if row is None:
        raise NoSuchFilter
    return row


def erase(email: str) -> None:
    """Delete the filters that search for this person. Their owners' other filters stay."""
    typed = urlencode({"q": email}).removeprefix("q=")
    SavedFilter.objects.filter(Q(query__icontains=typed) | Q(name__icontains=email)).delete()


def _alone(by: Any) -> None:
    """Let no other request of the person change their filters until the transaction ends: they are counted."""
    sql.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"saved filters {by.pk}"])


def _note(verb: str, row: SavedFilter) -> None:
    filters = f"{row.listed}?{unquote_plus(row.query)}"
    shared = "shared" if row.is_shared else "not shared"
    audit.note(verb, row, changes=[("filter", "", filters), ("colleagues", "", shared)])
