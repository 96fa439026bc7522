"""The catalog's version: one row whose token changes in the transaction of every catalog write.

Every web process looks at it at most once a second. The token is random, not a counter: a number would come again
after a rollback, with other content.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

COUNTS_SHOWN_EVERY = timedelta(minutes=1)


class CatalogVersion(models.Model):
    """The one row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    token = models.CharField(max_length=32)
    updated_at = models.DateTimeField()
    counts_at = models.DateTimeField(help_text="From when on the deployments counted so far are shown.")

    def __str__(self) -> str:
        return self.token


def bump() -> None:
    """Tell every process that the catalog changed; called in the transaction of the change."""
    now = timezone.now()
    row = CatalogVersion(token=secrets.token_hex(16), updated_at=now, counts_at=now)
    CatalogVersion.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["id"], update_fields=["token", "updated_at"]
    )


def show_counts(*, now: datetime) -> None:
    """Have the deployments counted from now on shown in a minute; those counted meanwhile are shown with them."""
    CatalogVersion.objects.filter(counts_at__lte=now).update(counts_at=now + COUNTS_SHOWN_EVERY)


@dataclass(frozen=True, slots=True)
class Version:
    """What a process remembers of the row; `counts_at` is None while new counts still wait for their minute."""

    token: str
    counts_at: datetime | None

    def holds(self, now: Version) -> bool:
        """Whether what was read at this version is what visitors are to see now."""
        return self.token == now.token and now.counts_at in {None, self.counts_at}


def current(*, now: datetime) -> Version:
    row = CatalogVersion.objects.values_list("token", "counts_at").first()
    if row is None:
        return Version("", None)
    token, counts_at = row
    return Version(token, counts_at if counts_at <= now else None)


def updated_at() -> datetime | None:
    """When the catalog last changed."""
    return CatalogVersion.objects.values_list("updated_at", flat=True).first()
