"""The banners that pages show now. Each process reads them from the database once in a few seconds."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import Error
from django.utils import timezone

from status.announcements import wording
from status.announcements.models import Announcement
from status.announcements.wording import Wording

log = logging.getLogger(__name__)

FRESH_SECONDS = 10.0
MOST = 3  # banners on a page: the newest


@dataclass(frozen=True, slots=True)
class _Shown:
    begins: datetime
    ends: datetime
    on_status_page: bool
    texts: dict[str, Wording]


_kept: tuple[float, list[_Shown]] = (float("-inf"), [])


def now(lang: str, *, status_page: bool = False) -> list[Wording]:
    """The banners of this moment, in this language or in English. While the database is down, the last known ones."""
    at = timezone.now()
    shown = [one for one in _read() if one.begins <= at < one.ends and (one.on_status_page or not status_page)]
    return [one.texts.get(lang, one.texts[wording.ENGLISH]) for one in shown[:MOST]]


def forget() -> None:
    global _kept  # noqa: PLW0603  # what this process remembers
    _kept = (float("-inf"), [])


def _read() -> list[_Shown]:
    global _kept  # noqa: PLW0603  # what this process remembers
    if time.monotonic() - _kept[0] < FRESH_SECONDS:
        return _kept[1]
    found = _kept[1]
    try:
        rows = Announcement.objects.filter(shown_until__gt=timezone.now()).prefetch_related("texts")
        found = [
            _Shown(row.shown_from, row.shown_until, row.on_status_page, wording.wordings(row))
            for row in rows[:100]
            if row.shown_from and row.shown_until
        ]
    except Error as error:
        log.warning("cannot read the announcements", extra={"error": str(error)})
    _kept = time.monotonic(), found
    return found
