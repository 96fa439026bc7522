"""What the page of a step showed. The page sends it back, signed, valid for one operator, one step and one hour."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core import signing
from django.http import HttpRequest

from config.admin_steps.step import Step
from config.models import UsedPage

FIELD = "seen"
SALT = "config.admin_steps"
LASTS = timedelta(hours=1)
ONCE_BYTES = 16

Cells = dict[str, str]  # what a page shows of a row, by the name of the column


@dataclass(frozen=True, slots=True)
class ShownRows:
    once: str
    names: dict[str, str]  # names of the rows, by id
    rows: dict[str, Cells]


def sealed(request: HttpRequest, step: Step[Any], rows: list[Any]) -> str:
    shown = {str(row.pk): cells for row, cells in zip(rows, step.cells(rows), strict=True)}
    names = {str(row.pk): str(row) for row in rows}
    once = secrets.token_hex(ONCE_BYTES)
    whole = {"for": _whose(request, step), "once": once, "names": names, "rows": shown}
    return signing.dumps(whole, salt=SALT, compress=True)


def opened(request: HttpRequest, step: Step[Any]) -> ShownRows | None:
    """Return what the page showed.

    None if the page is too old, was made for another operator or step, or has a wrong signature.
    """
    try:
        whole = signing.loads(request.POST.get(FIELD, ""), salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        return None
    return ShownRows(whole["once"], whole["names"], whole["rows"]) if whole["for"] == _whose(request, step) else None


def use(once: str, row_id: str, *, now: datetime) -> bool:
    """Mark the page as used for this row. Return whether this is the first time.

    Of two requests at the same time, the second waits for the first.
    """
    page, row = _used(once, row_id), {"forget_at": now + LASTS}
    return UsedPage.objects.get_or_create(pk=page, defaults=row)[1]


def give_back(once: str, row_id: str) -> None:
    """Let the page be sent again for this row, because it changed nothing."""
    UsedPage.objects.filter(pk=_used(once, row_id)).delete()


def changes(before: Cells, now: Cells, *, material: tuple[str, ...]) -> list[str]:
    """Name each value that has changed since the page showed it, in a few words each."""
    looked_at = material or tuple(before)
    pairs = [(name, before.get(name, ""), now.get(name, "")) for name in looked_at]
    return [f"{name} was {was or 'empty'}, is {is_now or 'empty'}" for name, was, is_now in pairs if was != is_now]


def _used(once: str, row_id: str) -> str:
    return f"{once}:{row_id}"


def _whose(request: HttpRequest, step: Step[Any]) -> list[str]:
    return [str(request.user.pk), step.model.__name__, step.name]
