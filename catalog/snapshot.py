"""The catalog in memory: read once per version and shared by every thread of a process.

`current()` costs nothing when warm but one small query a second, so a change is seen within a second in every
process. While the database is away the last snapshot goes on being served.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from django.db import DatabaseError, InterfaceError
from django.db.models import Prefetch
from django.utils import timezone

from catalog import version
from catalog.models import Article, CatalogRow, Engine, LlmModel, LlmProvider, Persona, PersonaL10n, Tier, Toolset
from catalog.vocabulary import ArticleStatus

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
WAIT_SECONDS = 0.5  # for another thread's check, before the old snapshot is used once more
AWAY_SECONDS = 5.0  # between two looks at a database that is away, for each may wait long
READS = 3

Row = TypeVar("Row", bound=CatalogRow)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """Every row by id, also those no longer offered: agents keep what they were created with.

    Personas have their localizations and published articles (without bodies) prefetched.
    """

    version: version.Version
    tiers: dict[str, Tier]
    engines: dict[str, Engine]
    llm_providers: dict[str, LlmProvider]
    llm_models: dict[str, LlmModel]
    toolsets: dict[str, Toolset]
    personas: dict[str, Persona]


def offered(rows: dict[str, Row]) -> dict[str, Row]:
    """The rows that visitors see, in their order."""
    return {key: row for key, row in rows.items() if row.offered}


def current() -> Snapshot:
    """The catalog as it was at most a second ago. Raises DatabaseError when it was never read and cannot be now."""
    return _holder.current()


def forget() -> None:
    """Read afresh at the next call, in this process."""
    _holder.forget()


class _Holder:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._checked_at = 0.0

    def current(self) -> Snapshot:
        snapshot = self._snapshot
        if snapshot is not None and time.monotonic() - self._checked_at < CHECK_SECONDS:
            return snapshot
        if not self._lock.acquire(timeout=WAIT_SECONDS if snapshot else -1):
            return snapshot or self.current()
        try:
            return self._checked()
        finally:
            self._lock.release()

    def forget(self) -> None:
        self._snapshot = None

    def _checked(self) -> Snapshot:
        """Under the lock: look at the version unless another thread just did, and read anew if it moved."""
        snapshot, now = self._snapshot, time.monotonic()
        if snapshot is not None and now - self._checked_at < CHECK_SECONDS:
            return snapshot
        try:
            if snapshot is None or not snapshot.version.holds(version.current(now=timezone.now())):
                self._snapshot = snapshot = _read()
        except (DatabaseError, InterfaceError):
            if snapshot is None:
                raise
            log.warning("the catalog's version cannot be read: serving what is in memory", exc_info=True)
            now = time.monotonic() + AWAY_SECONDS
        self._checked_at = now
        return snapshot


_holder = _Holder()


def _read() -> Snapshot:
    """All rows as of one version: read again when the catalog changed in between."""
    for _ in range(READS - 1):
        snapshot = _read_rows(version.current(now=timezone.now()))
        if snapshot.version.holds(version.current(now=timezone.now())):
            return snapshot
    return _read_rows(version.current(now=timezone.now()))


def _read_rows(at: version.Version) -> Snapshot:
    texts = Prefetch("localizations", PersonaL10n.objects.offered())
    articles = Prefetch("articles", Article.objects.filter(status=ArticleStatus.PUBLISHED).defer("body"))
    return Snapshot(
        version=at,
        tiers=_by_id(Tier.objects.all()),
        engines=_by_id(Engine.objects.all()),
        llm_providers=_by_id(LlmProvider.objects.all()),
        llm_models=_by_id(LlmModel.objects.all()),
        toolsets=_by_id(Toolset.objects.all()),
        personas=_by_id(Persona.objects.prefetch_related(texts, articles)),
    )


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.pk: row for row in rows}
