"""A person asks for their data. A worker makes the file and sends a mail; after a week the file is deleted.

STATE MACHINE: asked, then made or failed. What a killed worker had started becomes due again.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from accounts import mail_choices
from accounts.models import User
from billing.leaving import packing
from billing.models import DataExport, ExportState
from config import background, outgoing_mail, states
from config.errors import NotFound, RateLimited
from config.ids import is_id

log = logging.getLogger(__name__)

TRANSITIONS: dict[ExportState, set[ExportState]] = {
    ExportState.ASKED: {ExportState.MADE, ExportState.FAILED},
    ExportState.MADE: set(),
    ExportState.FAILED: set(),
}
KEPT = timedelta(days=7)
LEASE = timedelta(minutes=10)
DAY = timedelta(days=1)
A_DAY = 3
MAX_ATTEMPTS = 5
BATCH = 10


class NoSuchExport(NotFound):
    message = "id: you have no such file, or it was deleted after a week"


class TooManyExports(RateLimited):
    def __init__(self, *, retry_after: int) -> None:
        super().__init__(f"you can ask for at most {A_DAY} files with your data in a day", retry_after=retry_after)


@transaction.atomic
def ask(user: User, *, lang: str, now: datetime) -> DataExport:
    """The export that is already waiting, or a new one. Raises TooManyExports."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    own = DataExport.objects.filter(user=user).defer("file")
    if waiting := own.filter(state=ExportState.ASKED).first():
        return waiting
    lately = list(own.filter(asked_at__gt=now - DAY).values_list("asked_at", flat=True))
    if len(lately) >= A_DAY:
        raise TooManyExports(retry_after=int((lately[A_DAY - 1] + DAY - now).total_seconds()) + 1)
    export = DataExport.objects.create(user=user, lang=lang, asked_at=now, due_at=now, forget_at=now + KEPT)
    background.on_commit("billing.make_exports")
    return export


def of(user: User, *, now: datetime) -> list[DataExport]:
    """The user's exports, newest first, without the files."""
    return list(DataExport.objects.filter(user=user, forget_at__gt=now).defer("file")[: A_DAY * KEPT.days])


def own(user: User, export_id: str, *, now: datetime) -> DataExport:
    """The user's export with its file. Raises NoSuchExport."""
    rows = DataExport.objects.filter(user=user, state=ExportState.MADE, forget_at__gt=now, file__isnull=False)
    found = rows.filter(pk=export_id).first() if is_id("exp", export_id) else None
    if found is None:
        raise NoSuchExport
    return found


def make_due(*, now: datetime) -> int:
    """Make the exports that are due, and delete old ones. Returns how many were made."""
    DataExport.objects.filter(forget_at__lte=now).delete()
    made = 0
    while made < BATCH and (export := _claimed(now=now)):
        made += _make(export, now=now)
    return made


@transaction.atomic
def _claimed(*, now: datetime) -> DataExport | None:
    due: QuerySet[DataExport] = DataExport.objects.filter(due_at__lte=now).defer("file").order_by("due_at")
    export = due.select_for_update(skip_locked=True, of=("self",)).first()
    if export is None:
        return None
    if export.attempts >= MAX_ATTEMPTS:
        _move(export, ExportState.FAILED, due_at=None)
        log.error("a person's data could not be packed", extra={"export": export.pk})
    else:
        export.due_at, export.attempts = now + LEASE, export.attempts + 1
        export.save(update_fields=["due_at", "attempts"])
    return export


def _move(export: DataExport, to: ExportState, **values: Any) -> bool:
    """The only function that assigns a state, together with these values. False when the export is over already."""
    rows = DataExport.objects.filter(pk=export.pk, state__in=states.before(TRANSITIONS, to))
    moved = bool(rows.update(state=to, **values))
    export.refresh_from_db(fields=["state"])
    return moved


def _make(export: DataExport, *, now: datetime) -> bool:
    """The file is made outside of a transaction. If the worker is killed, the export becomes due again."""
    if export.state != ExportState.ASKED:
        return False
    try:
        file = packing.packed(export.user, now=now)
    except Exception:
        log.exception("a person's data was not packed", extra={"export": export.pk})
        return False
    return _keep(export, file, now=now)


@transaction.atomic
def _keep(export: DataExport, file: bytes, *, now: datetime) -> bool:
    """Store the file, send the mail, and remove the person's earlier files."""
    values = {"due_at": None, "made_at": now, "forget_at": now + KEPT}
    if not _move(export, ExportState.MADE, **values, size=len(file), file=file):
        return False
    DataExport.objects.filter(user=export.user_id).exclude(pk=export.pk).update(file=None, size=0)
    mail = outgoing_mail.rendered(
        "data_export_ready",
        lang=mail_choices.language(export.user, otherwise=export.lang),
        days=KEPT.days,
    )
    outgoing_mail.write(export.user_id, mail)
    return True
