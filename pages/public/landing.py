"""/"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, HttpResponseRedirect
from django.utils.translation import gettext
from rest_framework.request import Request

from catalog import engines, tiers
from catalog.models import Engine, Persona
from catalog.vocabulary import PersonaStatus
from pages.languages import Language, address
from pages.public import persona_lists, questions, structured
from pages.public.base import PublicPageViewSet
from pages.public.reading import PersonaReading, cards, read
from pages.words import CATEGORIES, plan, translated

IN_A_CATEGORY = 3
FEATURED_LINES = 4


class LandingViewSet(PublicPageViewSet):
    def list(self, request: Request, lang: Language | None = None) -> HttpResponseBase:
        if typed := request.query_params.get("q"):  # an address that somebody typed by hand
            return HttpResponseRedirect(address("search", lang, q=typed))
        return self.page(request, lang, "landing.html", _content, "")


def _content(language: Language) -> dict[str, Any]:
    now = persona_lists.current()
    faq = questions.asked()
    featured, lines = _featured(now.personas, language)
    return {
        "title": gettext("AI agents that know their job"),
        "description": gettext(
            "Choose a persona, pick a plan, add your model key: your own AI agent runs in minutes, and the first days"
            " are free."
        ),
        "featured": featured,
        "featured_lines": lines,
        "categories": _categories(now, language),
        "newest": cards(now.newest, language),
        "popular": cards(now.popular, language),
        "plans": [plan(tier) for tier in tiers.offered()],
        "trial": tiers.trial(),
        "engines": [_engine(engine) for engine in engines.offered()],
        "questions": faq,
        "structured": structured.landing(language, faq),
    }


def _featured(shown: list[Persona], language: Language) -> tuple[PersonaReading | None, list[dict[str, str]]]:
    """One of our personas, and the first lines of its conversation."""
    for persona in shown:
        if persona.status == PersonaStatus.BUILTIN and persona.demo and (reading := read(persona, language)).demo:
            return reading, reading.demo.lines[:FEATURED_LINES]
    return None, []


def _categories(now: persona_lists.PersonaLists, language: Language) -> list[dict[str, Any]]:
    return [
        {
            "id": category,
            "text": text,
            "href": address(f"c/{category}", language),
            "cards": cards(now.in_category(category)[:IN_A_CATEGORY], language),
            "count": len(now.in_category(category)),
            "more": len(now.in_category(category)) > IN_A_CATEGORY,
        }
        for category, text in CATEGORIES.items()
        if now.in_category(category)
    ]


def _engine(engine: Engine) -> dict[str, Any]:
    smallest = tiers.tier_of(engine.min_tier)
    return {
        "label": engine.label,
        "about": translated(engine.description),
        "smallest": gettext("from %(plan)s") % {"plan": translated(smallest.name).text},
    }
