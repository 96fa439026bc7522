"""The catalog's version: one row whose token changes in the transaction of every catalog write.

Every web process checks it at most once a second. The token is random and not a counter: after a rollback a counter
would give the same number to other content.
"""

from __future__ import annotations

import secrets
from datetime import datetime

from django.db import models
from django.utils import timezone


class CatalogVersion(models.Model):
    """The only row of its table."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    token = models.CharField(max_length=32)
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.token


def bump() -> None:
    """Tell every process that the catalog changed. Call this in the transaction of the change."""
    row = CatalogVersion(token=secrets.token_hex(16), updated_at=timezone.now())
    CatalogVersion.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["id"], update_fields=["token", "updated_at"]
    )


def current() -> str:
    """The current token; empty before the first change."""
    return CatalogVersion.objects.values_list("token", flat=True).first() or ""


def updated_at() -> datetime | None:
    """When the catalog last changed; None if it never did."""
    return CatalogVersion.objects.values_list("updated_at", flat=True).first()
