"""What this app knows of a person: what they wrote, as for the file they take along."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.models import Article, Author, Persona, PersonaL10n
from config.personal import Section, rows

TEXTS = ("name", "tagline", "for_who", "does", "does_examples", "disclaimer", "demo")
COLUMNS = (
    *("id", "icon", *TEXTS, "skills", "channels", "category", "tags", "tier", "risk", "soul", "recommended_models"),
    *("status", "deployed_count", "created_at", "updated_at", "published_at"),
)


def exported(user_id: str) -> Iterator[Section]:
    yield "author", rows(Author.objects.filter(pk=user_id), "name", "created_at")
    yield "personas", rows(Persona.objects.filter(owner_id=user_id).order_by("-created_at", "-id"), *COLUMNS)
    yield (
        "persona-translations",
        rows(
            PersonaL10n.objects.filter(persona__owner_id=user_id).order_by("persona", "lang"),
            "persona_id",
            "lang",
            *TEXTS,
        ),
    )
    yield (
        "articles",
        rows(
            Article.objects.filter(persona__owner_id=user_id),
            *("persona_id", "slug", "title", "summary", "lang", "status", "body", "created_at", "updated_at"),
        ),
    )
