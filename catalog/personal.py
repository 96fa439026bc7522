"""The data of this app about a person: what they wrote. For the data export, and for deletion."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from catalog import authoring, authors
from catalog.models import Article, Author, Persona, PersonaL10n, Takedown
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


def erase(user_id: str, *, now: datetime) -> None:
    """Delete what the person wrote.

    A persona that agents use stays for them, as a draft and without the author's name.
    """
    for persona in Persona.objects.filter(owner_id=user_id).order_by("pk"):
        try:
            authoring.delete(persona, now=now)
        except authoring.InUse:
            authoring.unpublish(persona, now=now)
            Article.objects.filter(persona=persona).delete()
    name = authors.unnamed(user_id)
    Author.objects.filter(pk=user_id).update(name=name, ban_reason="")
    Persona.objects.filter(owner_id=user_id).update(author=name)
    Takedown.objects.filter(author=user_id).update(reason="")
