"""The catalog in memory: read once per version and shared by every thread of a process.

`current()` costs nothing when warm but one small query a second, so a change is seen within a second in every
process; under `make run` a thread of each web process asks it beside the requests (catalog/views/warming.py). Of
personas only those that changed are read anew. While the database is away the last snapshot goes on being served.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from django.db import DatabaseError, InterfaceError
from django.db.models import Model, Prefetch, QuerySet

from catalog import revisions, version
from catalog.models import Article, CatalogRow, Engine, LlmModel, LlmProvider, Persona, PersonaL10n, Tier, Toolset
from catalog.vocabulary import ArticleStatus

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
WAIT_SECONDS = 0.02  # for another thread's check, which may read much, before the old snapshot is used once more
AWAY_SECONDS = 5.0  # between two looks at a database that is away, for each may wait long
READS = 3
READ_AT_ONCE = 1_000  # personas

Row = TypeVar("Row", bound=CatalogRow)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """Every row by id, also those no longer offered: agents keep what they were created with. Drafts are not here.

    Personas have their localizations and published articles (without bodies) prefetched, and are the same objects as
    in the snapshot before as long as nothing of them changed.
    """

    version: str
    tiers: dict[str, Tier]
    engines: dict[str, Engine]
    llm_providers: dict[str, LlmProvider]
    llm_models: dict[str, LlmModel]
    toolsets: dict[str, Toolset]
    personas: dict[str, Persona]
    revisions: dict[str, str]


def offered(rows: dict[str, Row]) -> dict[str, Row]:
    """The rows that visitors see, in their order."""
    return {key: row for key, row in rows.items() if row.offered}


def current() -> Snapshot:
    """The catalog as it was at most a second ago. Raises DatabaseError when it was never read and cannot be now."""
    return _holder.current()


def look() -> Snapshot:
    """The catalog as it is now: `current()` for who looks before a second is over."""
    return _holder.look()


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
            self._checked_at = max(self._checked_at, time.monotonic())  # an answer asks often: it waits once a second
            return snapshot or self.current()
        try:
            return self._checked()
        finally:
            self._lock.release()

    def look(self) -> Snapshot:
        with self._lock:
            away = self._checked_at > time.monotonic()  # not to be asked for some seconds
            return self._checked(at_once=not away)

    def forget(self) -> None:
        self._snapshot = None

    def _checked(self, *, at_once: bool = False) -> Snapshot:
        """Under the lock: look at the version, if not `at_once` a second after the last time; read anew if it moved."""
        snapshot, now = self._snapshot, time.monotonic()
        if snapshot is not None and not at_once and now - self._checked_at < CHECK_SECONDS:
            return snapshot
        try:
            if snapshot is None or snapshot.version != version.current():
                self._snapshot = snapshot = _read(snapshot)
        except (DatabaseError, InterfaceError):
            if snapshot is None:
                raise
            log.warning("the catalog's version cannot be read: serving what is in memory", exc_info=True)
            now = time.monotonic() + AWAY_SECONDS
        self._checked_at = now
        return snapshot


_holder = _Holder()


def _read(before: Snapshot | None) -> Snapshot:
    """All rows as of one version: read again when the catalog changed in between."""
    for _ in range(READS - 1):
        snapshot = _read_rows(version.current(), before)
        if snapshot.version == version.current():
            return snapshot
        before = snapshot
    return _read_rows(version.current(), before)


def _read_rows(at: str, before: Snapshot | None) -> Snapshot:
    found = revisions.of_personas()
    return Snapshot(
        version=at,
        tiers=_by_id(Tier.objects.all()),
        engines=_by_id(Engine.objects.all()),
        llm_providers=_by_id(LlmProvider.objects.all()),
        llm_models=_by_id(LlmModel.objects.all()),
        toolsets=_by_id(Toolset.objects.all()),
        personas=_personas(found, before),
        revisions=found,
    )


def _personas(found: dict[str, str], before: Snapshot | None) -> dict[str, Persona]:
    """The personas of these revisions. One that changes after it was found has a newer revision at the next look."""
    rows = {}
    if before is not None:
        rows = {key: row for key, row in before.personas.items() if before.revisions[key] == found.get(key)}
    changed = [key for key in found if key not in rows]
    for start in range(0, len(changed), READ_AT_ONCE):
        rows |= _by_id(_whole(Persona.objects.filter(id__in=changed[start : start + READ_AT_ONCE])))
    return {key: rows[key] for key in found if key in rows}


def _whole(personas: QuerySet[Persona]) -> QuerySet[Persona]:
    texts = Prefetch("localizations", PersonaL10n.objects.offered().defer(*_computed(PersonaL10n)))
    articles = Prefetch("articles", Article.objects.filter(status=ArticleStatus.PUBLISHED).defer("body", "html"))
    return personas.defer(*_computed(Persona)).prefetch_related(texts, articles)


def _computed(model: type[Model]) -> list[str]:
    """The columns that PostgreSQL computes for its own use."""
    return [field.name for field in model._meta.concrete_fields if field.generated]  # noqa: SLF001 # Django's public API


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {row.pk: row for row in rows}
