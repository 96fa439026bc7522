"""The catalog in memory: read once per version and shared by all threads of a process.

When the snapshot exists, `current()` costs one small query a second, so every process sees a change within a second.
Under `make run` a thread of each web process makes that query outside of requests (pages/warming.py). Only
changed personas are read again. While the database is down, the last snapshot stays in use.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from django.db import DatabaseError, InterfaceError
from django.db.models import Model, Prefetch, QuerySet

from catalog import revisions, version
from catalog.models import Article, CatalogRow, Engine, LlmModel, LlmProvider, Persona, PersonaL10n, Tier, Toolset
from catalog.vocabulary import ArticleStatus
from config import dry_run
from config.operator_settings.values import values

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
WAIT_SECONDS = 0.02  # for another thread's check, which may take long, before the old snapshot is used again
AWAY_SECONDS = 5.0  # between two tries when the database is down, because each may wait long
READS = 3
READ_AT_ONCE = 1_000  # personas

Row = TypeVar("Row", bound=CatalogRow)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """All rows by id, even those no longer offered: agents keep what they were created with. Drafts are left out.

    Personas have their localizations and published articles (without bodies) prefetched. An unchanged persona is the
    same object as in the snapshot before. After a change of operators' settings the snapshot is another object too:
    answers and pages that are kept with it are made again.
    """

    version: str
    settings: int  # revision of the operators' settings
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


class _Holder:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._checked_at = 0.0

    def current(self) -> Snapshot:
        """The catalog as it was at most a second ago.

        Raises DatabaseError if it was never read and the database is down.
        """
        snapshot = self._snapshot
        if snapshot is not None and _is_fresh(snapshot, self._checked_at):
            return snapshot
        if not self._lock.acquire(timeout=WAIT_SECONDS if snapshot else -1):
            self._checked_at = max(self._checked_at, time.monotonic())  # an answer asks often: wait once a second
            return snapshot or self.current()
        try:
            return self._checked()
        finally:
            self._lock.release()

    def look(self) -> Snapshot:
        """The catalog as it is now, for callers that cannot wait a second."""
        with self._lock:
            away = self._checked_at > time.monotonic()  # the database did not answer: do not ask it for some seconds
            return self._checked(at_once=not away)

    def forget(self) -> None:
        """Read everything again at the next call in this process."""
        self._snapshot = None

    def _checked(self, *, at_once: bool = False) -> Snapshot:
        """With the lock held: compare the version, unless that was done less than a second ago. Read the rows if it
        changed.

        `at_once` compares in any case.
        """
        snapshot, now = self._snapshot, time.monotonic()
        if dry_run.is_on():  # what it changed is taken back, so nobody else may see it
            return snapshot or _read(None)
        if snapshot is not None and not at_once and _is_fresh(snapshot, self._checked_at):
            return snapshot
        try:
            if snapshot is None or snapshot.version != version.current():
                self._snapshot = snapshot = _read(snapshot)
            values.current()  # looks at them if that is due
            if snapshot.settings != values.revision:
                self._snapshot = snapshot = replace(snapshot, settings=values.revision)
        except (DatabaseError, InterfaceError):
            if snapshot is None:
                raise
            log.warning("the catalog's version cannot be read: serving what is in memory", exc_info=True)
            now = time.monotonic() + AWAY_SECONDS
        self._checked_at = now
        return snapshot


_holder = _Holder()
current, look, forget = _holder.current, _holder.look, _holder.forget


def _is_fresh(snapshot: Snapshot, checked_at: float) -> bool:
    return time.monotonic() - checked_at < CHECK_SECONDS and snapshot.settings == values.revision


def _read(before: Snapshot | None) -> Snapshot:
    """Read all rows of one version. Read again if the catalog changed meanwhile."""
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
        settings=values.revision,
        tiers=_by_id(Tier.objects.all()),
        engines=_by_id(Engine.objects.all()),
        llm_providers=_by_id(LlmProvider.objects.all()),
        llm_models=_by_id(LlmModel.objects.all()),
        toolsets=_by_id(Toolset.objects.all()),
        personas=_personas(found, before),
        revisions=found,
    )


def _personas(found: dict[str, str], before: Snapshot | None) -> dict[str, Persona]:
    """The personas of these revisions.

    If one changes after its revision was read, the next check sees a newer revision.
    """
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
