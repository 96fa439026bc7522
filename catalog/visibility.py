"""Taking rows off the public catalog, and offering them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from catalog import version
from catalog.models import CatalogRow, LlmModel, Persona, PersonaL10n


@transaction.atomic
def hide(model: type[CatalogRow], ids: Iterable[object]) -> int:
    """No longer offer these rows; agents that have them keep them. Returns how many were offered."""
    hidden = _held(model, ids).filter(hidden=False).update(hidden=True)
    version.bump()
    return hidden


@transaction.atomic
def offer(model: type[CatalogRow], ids: Iterable[object]) -> int:
    """Offer these rows again. What the data files no longer have becomes our own: later loads leave it alone.

    A model that a refresh took off is pinned: later refreshes leave it alone too.
    """
    rows = _held(model, ids)
    taken_off = Q(hidden=True) | Q(gone=True)
    if model is LlmModel:
        taken_off |= Q(outdated=True)
    count = rows.filter(taken_off).count()
    if model is LlmModel:
        rows.filter(outdated=True).update(outdated=False, pinned=True)
    rows.filter(gone=True).update(gone=False, loaded={})
    rows.filter(hidden=True).update(hidden=False)
    version.bump()
    return count


def _held(model: type[CatalogRow], ids: Iterable[object]) -> QuerySet[Any]:
    """These rows, locked until the end; the personas of localizations before them, as by all who write both."""
    rows = model.objects.filter(pk__in=list(ids))
    if model is PersonaL10n:
        Persona.objects.filter(pk__in=rows.values("persona")).hold()
    rows.hold()
    return rows
