"""Taking rows off the public catalog, and offering them again."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from catalog import version
from catalog.models import CatalogRow


@transaction.atomic
def hide(model: type[CatalogRow], ids: Iterable[object]) -> int:
    """No longer offer these rows; agents that have them keep them. Returns how many were offered."""
    hidden = model.objects.filter(pk__in=list(ids), hidden=False).update(hidden=True)
    version.bump()
    return hidden


@transaction.atomic
def offer(model: type[CatalogRow], ids: Iterable[object]) -> int:
    """Offer these rows again. What the data files no longer have becomes our own: later loads leave it alone."""
    rows = model.objects.filter(pk__in=list(ids))
    gone = rows.filter(gone=True).update(gone=False, hidden=False, loaded={})
    hidden = rows.filter(hidden=True).update(hidden=False)
    version.bump()
    return gone + hidden
