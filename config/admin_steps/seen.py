"""What a step's page showed, as the page sends it back: signed, for one operator, one step and one hour."""

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

Cells = dict[str, str]  # what a page shows of a row, by name of the column


@dataclass(frozen=True, slots=True)
class Seen:
    once: str
    names: dict[str, str]  # of the rows, by id
    rows: dict[str, Cells]


def sealed(request: HttpRequest, step: Step[Any], rows: list[Any]) -> str:
    shown = {str(row.pk): cells for row, cells in zip(rows, step.cells(rows), strict=True)}
    names = {str(row.pk): str(row) for row in rows}
    once = secrets.token_hex(ONCE_BYTES)
    whole = {"for": _whose(request, step), "once": once, "names": names, "rows": shown}
    return signing.dumps(whole, salt=SALT, compress=True)


def opened(request: HttpRequest, step: Step[Any]) -> Seen | None:
    """None for what is too old, another operator's, another step's, or nothing of ours."""
    try:
        whole = signing.loads(request.POST.get(FIELD, ""), salt=SALT, max_age=LASTS)
    except signing.BadSignature:
        return None
    return Seen(whole["once"], whole["names"], whole["rows"]) if whole["for"] == _whose(request, step) else None


def use(once: str, row_id: str, *, now: datetime) -> bool:
    """Whether this page is sent for this row for the first time. Of two at a time the second waits for the first."""
    page, row = _used(once, row_id), {"forget_at": now + LASTS}
    return UsedPage.objects.get_or_create(pk=page, defaults=row)[1]


def give_back(once: str, row_id: str) -> None:
    """The page may be sent again for this row, for it did nothing."""
    UsedPage.objects.filter(pk=_used(once, row_id)).delete()


def changes(before: Cells, now: Cells, *, material: tuple[str, ...]) -> list[str]:
    """What is no longer as it was shown, a few words each."""
    looked_at = material or tuple(before)
    pairs = [(name, before.get(name, ""), now.get(name, "")) for name in looked_at]
    return [f"{name} was {was or 'empty'}, is {is_now or 'empty'}" for name, was, is_now in pairs if was != is_now]


def _used(once: str, row_id: str) -> str:
    return f"{once}:{row_id}"


def _whose(request: HttpRequest, step: Step[Any]) -> list[str]:
    return [str(request.user.pk), step.model.__name__, step.name]
