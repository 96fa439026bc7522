"""A persona as a visitor reads it: in the page's language if it is translated, else in English."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from catalog import tiers
from catalog.models import Article, Persona, PersonaText, Tier
from catalog.vocabulary import ArticleLang, Category, Channel, PersonaStatus, Risk
from pages.languages import ENGLISH, WIRE, Language, address
from pages.words import CATEGORIES, CHANNELS, CategoryText, Passage, deployed, usd


@dataclass(frozen=True, slots=True)
class Ability:
    label: str
    question: str | None


@dataclass(frozen=True, slots=True)
class Spoken:
    lines: list[dict[str, str]]
    lang: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a list shows about a persona."""

    id: str
    icon: str
    name: str
    tagline: str
    lang: str
    href: str
    author: str | None  # None for our own personas
    tier: Tier
    price: str
    deployed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaReading(Card):
    """Everything that a persona's own page shows."""

    for_who: str
    abilities: list[Ability]
    demo: Spoken | None
    disclaimer: Passage | None
    category: str
    category_text: CategoryText
    channels: list[str]
    skills: list[str]
    tags: list[str]
    soul: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleEntry:
    """What a persona's page shows about an article."""

    title: str
    summary: str
    lang: str
    language: str
    href: str


def card(persona: Persona, language: Language) -> Card:
    return Card(**_card(persona, language, _text(persona, language)))


def cards(personas: Iterable[Persona], language: Language) -> list[Card]:
    return [card(persona, language) for persona in personas]


def read(persona: Persona, language: Language) -> PersonaReading:
    text = _text(persona, language)
    return PersonaReading(
        **_card(persona, language, text),
        for_who=text.for_who,
        abilities=_abilities(text),
        demo=_demo(persona, text, language),
        disclaimer=_disclaimer(persona, text, language),
        category=persona.category,
        category_text=CATEGORIES[Category(persona.category)],
        channels=[str(CHANNELS[Channel(channel)]) for channel in persona.channels],
        skills=persona.skills,
        tags=persona.tags,
        soul=persona.soul,
    )


def entry(article: Article) -> ArticleEntry:
    return ArticleEntry(
        title=article.title,
        summary=article.summary,
        lang=WIRE[article.lang].code,
        language=ArticleLang(article.lang).label,
        href=article_address(article),
    )


def article_address(article: Article) -> str:
    """The one address of an article, which exists in one language."""
    return address(f"p/{article.persona_id}/{article.slug}")


def _card(persona: Persona, language: Language, text: PersonaText) -> dict[str, Any]:
    return {
        "id": persona.id,
        "icon": persona.icon,
        "name": text.name,
        "tagline": text.tagline,
        "lang": _lang(persona, text, language),
        "href": address(f"p/{persona.id}", language),
        "author": None if persona.status == PersonaStatus.BUILTIN else persona.author,
        "tier": tiers.tier_of(persona.tier),
        "price": usd(tiers.tier_of(persona.tier).monthly_usd),
        "deployed": deployed(persona.deployed_count),
    }


def _text(persona: Persona, language: Language) -> PersonaText:
    return persona.texts.get(language.texts, persona) if language.texts else persona


def _lang(persona: Persona, text: PersonaText, language: Language) -> str:
    return ENGLISH.code if text is persona else language.code


def _abilities(text: PersonaText) -> list[Ability]:
    examples = text.examples or {}
    return [Ability(label, examples.get(label)) for label in text.does]


def _demo(persona: Persona, text: PersonaText, language: Language) -> Spoken | None:
    """The conversation of the localization; if it has none, the English one."""
    if text.demo:
        return Spoken(text.demo, _lang(persona, text, language))
    return Spoken(persona.demo, ENGLISH.code) if persona.demo else None


def _disclaimer(persona: Persona, text: PersonaText, language: Language) -> Passage | None:
    if persona.risk != Risk.HIGH and not persona.disclaimer:
        return None
    if text.disclaimer:
        return Passage(text.disclaimer, _lang(persona, text, language))
    return Passage(persona.disclaimer or "", ENGLISH.code)
