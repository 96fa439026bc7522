"""Loads the data files: creates missing rows and updates rows that nobody has edited.

Each row stores a digest of every column as the last load wrote it. A row that differs from its digests was edited in
the admin: the load keeps and reports it. A row that is no longer in the files is marked `gone` and not offered. Nothing
is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from catalog import digests, files, version
from catalog.models import CatalogRow, LlmModel, Persona, PersonaL10n

# A persona with an owner does not come from the files, so no load touches its rows.
OWNERS: dict[type[CatalogRow], str] = {Persona: "owner", PersonaL10n: "persona__owner"}
ADVISORY_LOCK = 0x0CA7A106  # only one load at a time, on all machines together


@dataclass(slots=True)
class Report:
    """What a load did. Each entry is a row such as `tier tiny`."""

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
        """The counts as one line of text."""
        names = ("created", "updated", "restored", "hidden", "kept")
        return ", ".join([*(f"{len(getattr(self, name))} {name}" for name in names), f"{self.unchanged} unchanged"])


def load(source: Path = files.DATA, *, overwrite: bool = False) -> Report:
    """Make the database match the files. Raises CatalogInvalid, before anything is written, if the files are wrong."""
    return write(files.read(source), overwrite=overwrite)


@transaction.atomic
def write(contents: files.Contents, *, overwrite: bool = False) -> Report:
    """Write rows that were read from files before."""
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
        """The rows of the table without those of authors, which may be many, and which the authors go on editing."""
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
            if existing.loaded != wanted.loaded:  # edited or made by hand with just the files' new values
                self._write(existing, loaded=wanted.loaded)

    def _restore(self, existing: CatalogRow) -> None:
        """Offer an edited row again, and keep the edit."""
        if existing.gone:
            self.report.restored.append(_name(existing))
            self._write(existing, gone=False)

    def _hide(self, row: CatalogRow) -> None:
        """Mark a row as gone that is no longer in the files. Rows made by hand are left alone."""
        if row.loaded and not row.gone:
            edited = digests.edited(row)
            self.report.hidden.append(f"{_name(row)} (edited: {', '.join(edited)})" if edited else _name(row))
            self._write(row, gone=True)

    def _write(self, row: CatalogRow, **columns: Any) -> None:
        """Write without `save`, which would change the catalog's version once per row."""
        self.model.objects.filter(pk=row.pk).update(**columns)


def _refuse_taken(contents: files.Contents) -> None:
    taken = Persona.objects.filter(id__in=contents.ids(Persona), owner__isnull=False).values_list("id", flat=True)
    if problems := [f"personas/{slug}.yaml: id: belongs to a community persona" for slug in taken]:
        raise files.CatalogInvalid(problems)


def _maker(row: CatalogRow) -> str:
    return "made by a refresh" if isinstance(row, LlmModel) and row.refreshed_at else "made by hand"


def _keep_newer_prices(existing: CatalogRow, wanted: CatalogRow) -> None:
    """Keep prices that a refresh found after the check date of the files."""
    if isinstance(existing, LlmModel) and isinstance(wanted, LlmModel):
        refreshed = existing.refreshed_at
        if refreshed and refreshed.date() >= wanted.checked_at:
            for column in LlmModel.PRICES:
                setattr(wanted, column, getattr(existing, column))


def _key(row: CatalogRow) -> str:
    return f"{row.persona_id} {row.lang}" if isinstance(row, PersonaL10n) else str(row.pk)


def _name(row: CatalogRow) -> str:
    return f"{row.noun()} {_key(row)}"
