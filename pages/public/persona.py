"""/p/{slug}"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponseBase
from rest_framework.request import Request

from catalog import engines, llm_models, personas, tiers
from catalog.models import Persona
from pages.languages import Language, address
from pages.public import persona_lists, structured
from pages.public.base import PublicPageViewSet
from pages.public.landing import IN_A_CATEGORY
from pages.public.plain import description, line
from pages.public.reading import cards, entry, read
from pages.words import plan

ARTICLES = 50


class PersonaViewSet(PublicPageViewSet):
    def retrieve(self, request: Request, slug: str, lang: Language | None = None) -> HttpResponseBase:
        personas.shown(slug)
        return self.page(request, lang, "persona.html", lambda language: _content(slug, language), f"p/{slug}")


def _content(slug: str, language: Language) -> dict[str, Any]:
    """Look the persona up again: one found before may belong to an older version of the catalog than the page."""
    persona = personas.shown(slug)
    reading = read(persona, language)
    return {
        "persona": reading,
        "title": line(reading.name),
        "description": description(reading.tagline),
        "category_href": address(f"c/{persona.category}", language),
        "plan": plan(reading.tier),
        "trial": tiers.trial(),
        "engines": _engines(persona),
        "models": _models(persona),
        "articles": [entry(article) for article in list(persona.articles.all())[:ARTICLES]],
        "neighbours": cards(_neighbours(persona), language),
        "api": settings.BASE_URL,
        "structured": structured.persona(reading, persona, language),
    }


def _engines(persona: Persona) -> list[str]:
    """The engines that run on the persona's tier and have its channels."""
    rank, channels = tiers.tier_of(persona.tier).rank, set(persona.channels)
    return [
        engine.label
        for engine in engines.offered()
        if tiers.tier_of(engine.min_tier).rank <= rank and channels <= set(engine.channels)
    ]


def _models(persona: Persona) -> list[str]:
    """The labels of the recommended models, without repetitions: several providers may have the same model."""
    labels = {model.id: model.label for model in llm_models.offered()}
    return list(dict.fromkeys(labels[model] for model in persona.recommended_models if model in labels))


def _neighbours(persona: Persona) -> list[Persona]:
    """The next personas of the category; after the last one it starts again with the first."""
    members = persona_lists.current().in_category(persona.category)
    at = next((index for index, one in enumerate(members) if one.id == persona.id), 0)
    return [*members[at + 1 :], *members[:at]][:IN_A_CATEGORY]
