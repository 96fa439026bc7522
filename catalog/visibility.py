"""Takes rows off the public catalog, and offers them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from catalog import version
from catalog.models import CatalogRow, LlmModel, Persona, PersonaL10n


@transaction.atomic
def hide(model: type[CatalogRow], ids: Iterable[object]) -> int:
    """Stop offering these rows. Agents that use them keep them. Return how many were not hidden before."""
    hidden = _held(model, ids).filter(hidden=False).update(hidden=True)
    version.bump()
    return hidden


@transaction.atomic
def offer(model: type[CatalogRow], ids: Iterable[object]) -> int:
    """Offer these rows again. Return how many were not offered before.

    A row that the data files no longer have becomes our own: later loads leave it alone. A model that a refresh took
    off is pinned: later refreshes leave it alone too.
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
    """Lock these rows until the transaction ends. Personas are locked before their localizations, as everywhere."""
    rows = model.objects.filter(pk__in=list(ids))
    if model is PersonaL10n:
        Persona.objects.filter(pk__in=rows.values("persona")).hold()
    rows.hold()
    return rows
