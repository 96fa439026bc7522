"""The texts of the pages in five languages besides English: complete, and compiled."""

from __future__ import annotations

import re

import pytest
from babel.messages import mofile
from babel.messages.catalog import Catalog

from catalog import files
from catalog.models import Engine, Tier, Toolset
from pages import languages, translations
from pages.translations import path_of, read

each_language = pytest.mark.parametrize("language", translations.LANGUAGES)
# Words that are the same in that language.
SHARED = {
    *(
        "Disk",
        "Domain",
        "E-mail",
        "Emoji",
        "Header",
        "Host",
        "Internet",
        "Log",
        "Model",
        "Plan",
        "Plans",
        "Social",
        "Tags",
        "Token",
        "Web",
        "Webhook",
    ),
    *("%(size)s MB", "%(size)s GB", "Agentpods", "Backups", "Cache", "Status", "Text-to-Speech"),
}
# Placeholders, percent signs and HTML tags.
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%|</?\w+>")


def key(text: str, context: object) -> str:
    """The text with its context. Babel reads contexts of a compiled file as bytes."""
    told = context.decode() if isinstance(context, bytes) else context
    return f"{text} ({told})" if told else text


def said(catalog: Catalog) -> dict[str, list[str]]:
    """Each message with its translations: one, or one for each plural form."""
    texts = {}
    for message in catalog:
        if message.id:
            forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
            texts[key(message.id if isinstance(message.id, str) else message.id[0], message.context)] = forms
    return texts


def test_every_language_of_the_pages_has_texts() -> None:
    assert {*translations.LANGUAGES, "en"} == set(languages.LANGUAGES)


@each_language
def test_everything_that_is_said_is_translated_and_nothing_else(language: str) -> None:
    found = [key(one.first, one.context) for one in translations.found()]
    texts = said(read(language))
    assert set(texts) == set(found)
    assert [key for key, forms in texts.items() if not all(form.strip() for form in forms)] == []
    assert [message.id for message in read(language) if message.id and message.fuzzy] == []
    assert list(read(language).obsolete) == []


@each_language
def test_nothing_is_left_in_english(language: str) -> None:
    assert [key for key, forms in said(read(language)).items() if key in forms and key not in SHARED] == []


@each_language
def test_what_is_filled_in_is_filled_in_everywhere(language: str) -> None:
    for message in read(language):
        if message.id:
            forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
            last = message.id if isinstance(message.id, str) else message.id[-1]
            wanted = sorted(PLACEHOLDER.findall(last))
            assert sorted(PLACEHOLDER.findall(forms[-1])) == wanted, last
            for form in forms[:-1]:  # the text for one day may leave the number out
                assert set(PLACEHOLDER.findall(form)) <= set(wanted), form


@each_language
def test_the_compiled_texts_are_those_of_the_translators(language: str) -> None:
    with path_of(language, "mo").open("rb") as file:
        compiled = mofile.read_mo(file)
    assert said(compiled) == said(read(language))


@each_language
def test_no_text_has_gone_unnoticed_since_they_were_made(language: str) -> None:
    assert said(translations.renewed(language)) == said(read(language))


def test_our_plans_engines_and_tools_are_told_in_every_language() -> None:
    rows = files.read().rows
    told = [engine.description for engine in rows[Engine]] + [tier.name for tier in rows[Tier]]  # type: ignore[attr-defined]
    told += [text for one in rows[Toolset] for text in (one.name, one.description)]  # type: ignore[attr-defined]
    for language in translations.LANGUAGES:
        assert set(told) <= set(said(read(language)))
