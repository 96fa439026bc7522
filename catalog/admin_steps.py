"""Steps of operators that take something out of the catalog."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet

from catalog import visibility
from catalog.models import Article, Persona
from config.admin_steps import DeleteRows, Given, Logged, Step


class HideRows(Step[Any]):
    name, title, button, done = "hide", "Hide from the public catalog", "Hide", "Hidden"
    material = ("id", "hidden")
    warnings = ("It is no longer offered to anybody. Agents that have it keep it. “Offer again” undoes this.",)

    def __init__(self, model: type[Model]) -> None:
        self.model = model

    def among(self, chosen: QuerySet[Any]) -> QuerySet[Any]:
        return chosen.filter(hidden=False)

    def shown(self, row: Any) -> dict[str, str]:
        cells = {"id": str(row.pk), "name": str(row), "hidden": "yes" if row.hidden else "no"}
        return cells | ({"agents made from it": str(row.deployed_count)} if isinstance(row, Persona) else {})

    def take(self, row: Any, *, given: Given) -> Logged | None:
        visibility.hide(type(row), [row.pk])
        return None


class DeleteArticles(DeleteRows):
    title = "Delete articles"
    model = Article
    related, deferred = ("persona",), ("body", "html")
    warnings = (
        *DeleteRows.warnings,
        "Its author gets no mail. To take it down with a mail, choose “Take down” instead.",
    )

    def shown(self, row: Any) -> dict[str, str]:
        return {
            "title": row.title,
            "persona": f"{row.persona} ({row.persona_id})",
            "slug": row.slug,
            "language": row.get_lang_display(),
            "status": row.status,
        }
