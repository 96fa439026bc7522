"""What all rows of the catalog have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.core.validators import RegexValidator
from django.db import models, transaction

from catalog.fields import Lines
from catalog.version import bump

LABEL_LENGTH = 200
LAST = 10_000  # position of rows made in the admin: after those of the data files

slug_id = RegexValidator(r"\A[a-z0-9](?:-?[a-z0-9])*\Z", "must be lowercase letters, digits and single hyphens")
env_name = RegexValidator(r"\A[A-Z][A-Z0-9_]*\Z", "must look like A_NAME")
toolset_id = RegexValidator(r"\A[a-z][a-z0-9_]*\Z", "must be lowercase letters, digits and underscores")


def label(**kwargs: Any) -> models.CharField[str, str]:
    return models.CharField(max_length=LABEL_LENGTH, **kwargs)


def lines(base: models.Field[Any, Any] | None = None, **kwargs: Any) -> Lines:
    return Lines(base or label(), **{"default": list, "blank": True, **kwargs})


class CatalogQuerySet(models.QuerySet[Any]):
    def offered(self) -> Self:
        """The rows that visitors see."""
        return self.filter(hidden=False, gone=False)

    def hold(self) -> None:
        """Lock these rows in order of their keys.

        All code that locks several rows does so in this order, to avoid deadlocks.
        """
        list(self.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


class Versioned(models.Model):
    """Saving or deleting such a row changes the catalog's version."""

    class Meta:
        abstract = True

    @transaction.atomic
    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        bump()

    @transaction.atomic
    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        deleted = super().delete(*args, **kwargs)
        bump()
        return deleted


class CatalogRow(Versioned):
    """A row that the data files can contain."""

    hidden = models.BooleanField(default=False, help_text="An operator removed it from the public catalog.")
    gone = models.BooleanField(default=False, editable=False, help_text="It is no longer in the data files.")
    # A digest of each column as the last load wrote it. Empty for rows made in the admin.
    loaded = models.JSONField(default=dict, editable=False)
    position = models.PositiveIntegerField(default=LAST, help_text="Position in lists, smallest first.")

    objects: ClassVar[CatalogQuerySet] = CatalogQuerySet.as_manager()  # type: ignore[assignment]  # as_manager hides the type

    class Meta:
        abstract = True

    @property
    def offered(self) -> bool:
        return not (self.hidden or self.gone)

    @classmethod
    def noun(cls) -> str:
        return str(cls._meta.verbose_name)

    @classmethod
    def column_names(cls) -> list[str]:
        return [column.attname for column in cls._meta.concrete_fields]
