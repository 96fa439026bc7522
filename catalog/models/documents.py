"""The table that `GET /personas?q=` searches."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q

from catalog.vocabulary import ArticleLang


class PersonaDocument(models.Model):
    """The words of a persona in one language, with the columns by which a search filters and sorts.

    Only PostgreSQL writes this table, by triggers on personas and localizations (catalog/migrations/_search.py), so
    no code path can forget it. It is a separate table with a partition for each language, because ranking reads every
    matching row: ranking 10,000 short rows takes a fifth of the time that ranking columns of the personas took.
    """

    pk = models.CompositePrimaryKey("persona_id", "lang")
    persona = models.ForeignKey("catalog.Persona", on_delete=models.DO_NOTHING, db_index=False, related_name="+")
    lang = models.CharField(max_length=3, choices=ArticleLang.choices)
    category = models.CharField(max_length=20)
    tier = models.CharField(max_length=20)
    position = models.PositiveIntegerField()
    public = models.BooleanField()
    document = SearchVectorField()

    class Meta:
        default_permissions = ()
        indexes: ClassVar = [
            GinIndex(fields=["document"], name="persona_document", fastupdate=False, condition=Q(public=True))
        ]

    def __str__(self) -> str:
        return f"{self.persona_id} ({self.lang})"
