"""Loading the data files: creates what is missing and updates what nobody has edited since.

Each row remembers a digest of every column as the last load wrote it. A row that differs from them was edited in the
admin: it is kept and reported. What the files no longer have is marked `gone` and not offered; nothing is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from catalog import digests, files, version
from catalog.models import CatalogRow, LlmModel, Persona, PersonaL10n

# Rows of a persona that somebody owns are none of the files'.
OWNERS: dict[type[CatalogRow], str] = {Persona: "owner", PersonaL10n: "persona__owner"}
ADVISORY_LOCK = 0x0CA7A106  # one load at a time over all machines


@dataclass(slots=True)
class Report:
    """What a load did, each entry a row such as `tier tiny`."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unchanged: int = 0

    @property
    def changed(self) -> bool:
        return bool(self.created or self.updated or self.restored or self.hidden)

    def summary(self) -> str:
        """One line of counts."""
        names = ("created", "updated", "restored", "hidden", "kept")
        return ", ".join([*(f"{len(getattr(self, name))} {name}" for name in names), f"{self.unchanged} unchanged"])


def load(source: Path = files.DATA, *, overwrite: bool = False) -> Report:
    """Bring the database to what the files say. Raises CatalogInvalid, before writing anything, when they are wrong."""
    return write(files.read(source), overwrite=overwrite)


@transaction.atomic
def write(contents: files.Contents, *, overwrite: bool = False) -> Report:
    """The same for files that were read before."""
    report = Report()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])
    _refuse_taken(contents)
    for model, wanted in contents.rows.items():
        _Table(model, report, overwrite=overwrite).load(wanted)
    if report.changed:
        version.bump()
    return report


class _Table:
    """One table's load."""

    def __init__(self, model: type[CatalogRow], report: Report, *, overwrite: bool) -> None:
        self.model = model
        self.report = report
        self.overwrite = overwrite

    def load(self, wanted: list[CatalogRow]) -> None:
        present = {_key(row): row for row in self._rows().order_by("pk").select_for_update(of=("self",))}
        missing: list[CatalogRow] = []
        for row in wanted:
            existing = present.pop(_key(row), None)
            if existing is None:
                row.loaded = digests.of(row)
                missing.append(row)
            else:
                self._merge(existing, row)
        self.model.objects.bulk_create(missing)
        self.report.created += [_name(row) for row in missing]
        for row in present.values():
            self._hide(row)

    def _rows(self) -> QuerySet[Any]:
        """Not what authors own: it may be a lot, and they go on writing it."""
        owner = OWNERS.get(self.model)
        return self.model.objects.filter(**{owner: None}) if owner else self.model.objects.all()

    def _merge(self, existing: CatalogRow, wanted: CatalogRow) -> None:
        _keep_newer_prices(existing, wanted)
        wanted.loaded = digests.of(wanted)
        current, edited = digests.of(existing), digests.edited(existing)
        if current != wanted.loaded and (edited or not existing.loaded) and not self.overwrite:
            self.report.kept.append(f"{_name(existing)} ({', '.join(edited) or _maker(existing)})")
            self._restore(existing)
        elif current != wanted.loaded or existing.gone:
            (self.report.restored if existing.gone else self.report.updated).append(_name(existing))
            columns = {column: getattr(wanted, column) for column in digests.columns(self.model)}
            self._write(existing, **columns, loaded=wanted.loaded, gone=False)
        else:
            self.report.unchanged += 1
            if existing.loaded != wanted.loaded:  # edited to what the files now say, or made by hand exactly so
                self._write(existing, loaded=wanted.loaded)

    def _restore(self, existing: CatalogRow) -> None:
        """Offer an edited row again, as it was edited."""
        if existing.gone:
            self.report.restored.append(_name(existing))
            self._write(existing, gone=False)

    def _hide(self, row: CatalogRow) -> None:
        """Take a row that the files had off the catalog; rows made by hand are none of theirs."""
        if row.loaded and not row.gone:
            edited = digests.edited(row)
            self.report.hidden.append(f"{_name(row)} (edited: {', '.join(edited)})" if edited else _name(row))
            self._write(row, gone=True)

    def _write(self, row: CatalogRow, **columns: Any) -> None:
        """Past `save`, which would bump the version once per row."""
        self.model.objects.filter(pk=row.pk).update(**columns)


def _refuse_taken(contents: files.Contents) -> None:
    taken = Persona.objects.filter(id__in=contents.ids(Persona), owner__isnull=False).values_list("id", flat=True)
    if problems := [f"personas/{slug}.yaml: id: belongs to a community persona" for slug in taken]:
        raise files.CatalogInvalid(problems)


def _maker(row: CatalogRow) -> str:
    return "made by a refresh" if isinstance(row, LlmModel) and row.refreshed_at else "made by hand"


def _keep_newer_prices(existing: CatalogRow, wanted: CatalogRow) -> None:
    """Prices that a refresh found after the files' were checked are not undone; the files' next ones are newer."""
    if isinstance(existing, LlmModel) and isinstance(wanted, LlmModel):
        refreshed = existing.refreshed_at
        if refreshed and refreshed.date() >= wanted.checked_at:
            for column in LlmModel.PRICES:
                setattr(wanted, column, getattr(existing, column))


def _key(row: CatalogRow) -> str:
    return f"{row.persona_id} {row.lang}" if isinstance(row, PersonaL10n) else str(row.pk)


def _name(row: CatalogRow) -> str:
    return f"{row.noun()} {_key(row)}"
