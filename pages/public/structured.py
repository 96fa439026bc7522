"""Structured data (schema.org) for search engines: JSON that says what a page is about."""

from __future__ import annotations

from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from catalog.models import Article, Persona
from catalog.vocabulary import PersonaStatus
from pages.languages import LANGUAGES, Language, address
from pages.public.plain import description, json_ld, line
from pages.public.questions import Question
from pages.public.reading import PersonaReading, article_address

Graph = dict[str, Any]
SERVICE: Graph = {"@type": "Organization", "name": "Agentpods"}


def landing(language: Language, questions: list[Question]) -> SafeString:
    site = {
        "@type": "WebSite",
        "name": "Agentpods",
        "url": address("", language),
        "inLanguage": language.code,
        "publisher": {**SERVICE, "url": address("")},
        "potentialAction": {
            "@type": "SearchAction",
            "target": f"{address('search', language)}?q={{search_term_string}}",
            "query-input": "required name=search_term_string",
        },
    }
    return json_ld({"@graph": [site, _faq(questions, language)]})


def trail(language: Language, *steps: tuple[str, str]) -> SafeString:
    return json_ld({"@graph": [_trail(language, *steps)]})


def persona(reading: PersonaReading, row: Persona, language: Language) -> SafeString:
    path = f"p/{row.id}"
    steps = ((str(reading.category_text.name), f"c/{row.category}"), (reading.name, path))
    return json_ld({"@graph": [_application(reading, row, address(path, language)), _trail(language, *steps)]})


def article(row: Article, of: Persona, language: Language) -> SafeString:
    written = {
        "@type": "Article",
        "headline": line(row.title),
        "description": description(row.summary or row.title),
        "url": article_address(row),
        "mainEntityOfPage": article_address(row),
        "inLanguage": language.code,
        "datePublished": row.created_at.isoformat(),
        "dateModified": row.updated_at.isoformat(),
        "author": _author(of),
        "publisher": {**SERVICE, "url": address("")},
    }
    steps = ((of.name, f"p/{of.id}"), (row.title, f"p/{of.id}/{row.slug}"))
    return json_ld({"@graph": [written, _trail(language, *steps)]})


def _application(reading: PersonaReading, row: Persona, url: str) -> Graph:
    return {
        "@type": "SoftwareApplication",
        "name": line(reading.name),
        "description": description(reading.tagline),
        "url": url,
        "inLanguage": reading.lang,
        "availableLanguage": [
            one for one, language in LANGUAGES.items() if not language.texts or language.texts in row.texts
        ],
        "applicationCategory": "BusinessApplication",
        "applicationSubCategory": str(reading.category_text.name),
        "operatingSystem": "Web",
        "featureList": [line(ability.label) for ability in reading.abilities],
        "keywords": [line(tag) for tag in reading.tags],
        "author": _author(row),
        "offers": {
            "@type": "Offer",
            "price": f"{reading.tier.monthly_usd:.2f}",
            "priceCurrency": "USD",
            "category": "subscription",
        },
    }


def _author(row: Persona) -> Graph:
    if row.status == PersonaStatus.BUILTIN:
        return SERVICE
    return {"@type": "Person", "name": line(row.author)}


def _trail(language: Language, *steps: tuple[str, str]) -> Graph:
    places = [(gettext("Personas"), ""), *steps]
    return {
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": position, "name": line(name), "item": address(path, language)}
            for position, (name, path) in enumerate(places, 1)
        ],
    }


def _faq(questions: list[Question], language: Language) -> Graph:
    return {
        "@type": "FAQPage",
        "inLanguage": language.code,
        "mainEntity": [
            {"@type": "Question", "name": one.question, "acceptedAnswer": {"@type": "Answer", "text": one.answer}}
            for one in questions
        ],
    }
