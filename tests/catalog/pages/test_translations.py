"""The texts of the pages in five languages besides English: complete, and compiled."""

from __future__ import annotations

import re

import pytest
from babel.messages import mofile
from babel.messages.catalog import Catalog

from catalog import files
from catalog.models import Engine, Tier
from catalog.pages import languages, translations
from catalog.pages.translations import path_of, read

each_language = pytest.mark.parametrize("language", translations.LANGUAGES)
# Words that are the same in that language.
SHARED = {
    *(
        "Disk",
        "Domain",
        "E-mail",
        "Emoji",
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
    *("%(size)s MiB", "%(size)s GiB", "Agentpods"),
}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]")


def said(catalog: Catalog) -> dict[str, list[str]]:
    """Each message with its translations: one, or a form for each plural."""
    texts = {}
    for message in catalog:
        if message.id:
            forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
            texts[message.id if isinstance(message.id, str) else message.id[0]] = forms
    return texts


def test_every_language_of_the_pages_has_texts() -> None:
    assert {*translations.LANGUAGES, "en"} == set(languages.LANGUAGES)


@each_language
def test_everything_that_is_said_is_translated_and_nothing_else(language: str) -> None:
    found = [one if isinstance(one, str) else one[0] for one in translations.found()]
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
            for form in forms[-1:]:
                assert sorted(PLACEHOLDER.findall(form)) == sorted(PLACEHOLDER.findall(last)), last


@each_language
def test_the_compiled_texts_are_those_of_the_translators(language: str) -> None:
    with path_of(language, "mo").open("rb") as file:
        compiled = mofile.read_mo(file)
    assert said(compiled) == said(read(language))


@each_language
def test_no_text_has_gone_unnoticed_since_they_were_made(language: str) -> None:
    assert said(translations.renewed(language)) == said(read(language))


def test_our_plans_and_engines_are_told_in_every_language() -> None:
    rows = files.read().rows
    told = [engine.description for engine in rows[Engine]] + [tier.name for tier in rows[Tier]]  # type: ignore[attr-defined]
    for language in translations.LANGUAGES:
        assert set(told) <= set(said(read(language)))
