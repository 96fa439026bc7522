"""`GET /personas?q=`: what it finds, in which order, and paging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from accounts.models import User
from catalog import snapshot, visibility
from catalog.models import Persona, PersonaDocument, PersonaL10n
from catalog.vocabulary import ArticleLang, Category, PersonaStatus, TierId

pytestmark = [pytest.mark.sampled, pytest.mark.usefixtures("catalog"), pytest.mark.unmeasured]

Make = Callable[..., Persona]


@pytest.fixture
def make(author: User) -> Make:
    """Writes a published persona directly into the database, without our rules."""

    def make(id: str, **columns: object) -> Persona:
        plain = {"icon": "🦉", "name": "Nobody", "tagline": "Nothing", "for_who": "Anyone", "does": ["Little"]}
        place = {"category": Category.FUN, "tier": TierId.SMALL, "status": PersonaStatus.PUBLISHED, "owner": author}
        return Persona.objects.bulk_create([Persona(id=id, soul="Zebras.", **{**plain, **place, **columns})])[0]

    return make


def found(api: APIClient, **query: str | int) -> list[str]:
    snapshot.forget()
    answer = api.get("/personas", query)
    assert answer.status_code == 200, answer.content
    return [persona["id"] for persona in answer.json()["personas"]]


def pages(api: APIClient, **query: str | int) -> Iterator[list[str]]:
    """Page after page; each page is requested only when it is needed."""
    answer = api.get("/personas", query)
    while True:
        yield [persona["id"] for persona in answer.json()["personas"]]
        if "Link" not in answer:
            return
        link = answer["Link"].removeprefix("<").removesuffix('>; rel="next"')
        assert link.startswith(f"{settings.BASE_URL}/personas?")
        answer = api.get(f"/personas?{urlsplit(link).query}")


@pytest.mark.parametrize(
    ("lang", "word", "id"),
    [
        ("en", "examination", "exam-coach"),
        ("en", "budgeting", "budget-coach"),
        ("ru", "ужинов", "meal-planner"),
        ("es", "presupuestos", "budget-coach"),
        ("pt", "orçamentos", "budget-coach"),
        ("tr", "sınavlarım", "exam-coach"),
        ("ind", "berujian", "exam-coach"),
    ],
)
def test_a_built_in_persona_is_found_by_a_form_of_a_word_that_it_does_not_have(
    api: APIClient, lang: str, word: str, id: str
) -> None:
    persona = Persona.objects.get(pk=id)
    written = persona if lang == "en" else persona.texts[lang]
    texts = [written.name, written.tagline, written.for_who, *written.does, *(written.does_examples or {}).values()]
    assert not any(word in text.lower() for text in [*texts, *persona.tags])
    assert id in found(api, q=f"{word} ", lang=lang)


def test_the_name_counts_more_than_the_tagline_and_so_on_to_whom_it_is_for(api: APIClient, make: Make) -> None:
    make("a-for", for_who="People with a zebrafish")
    make("b-example", does=["Little"], does_examples={"Little": "What does my zebrafish eat?"})
    make("c-tag", tags=["zebrafish"])
    make("d-name", name="Zebrafish")
    assert found(api, q="zebrafish") == ["d-name", "c-tag", "b-example", "a-for"]


def test_equally_good_matches_come_in_the_order_of_the_list(api: APIClient, make: Make) -> None:
    for name, position in (("z", 5), ("b", 10_000), ("a", 10_000)):
        make(name, name="Zebrafish", position=position)
    assert found(api, q="zebrafish") == ["z", "a", "b"]


def test_the_soul_is_not_searched(api: APIClient, make: Make) -> None:
    make("owl")
    assert found(api, q="zebras") == []


WRITTEN_AND_TYPED = [
    ("en", "Café “Night”", "cafe night"),
    ("en", "Node.js and/or C#", "node js"),
    ("ru", "«Ёлки»…", "елка"),
    ("ru", "Елка", "ЁЛКИ"),
    ("es", "¿Músicas?", "musica"),
    ("es", "musica", "MÚSICA"),
    ("pt", "Músicas—sim", "musica"),
    ("tr", "IŞIKLAR", "ışık"),
    ("tr", "İstanbul'da", "istanbul"),
    ("tr", "Çalışmalar", "calisma"),
    ("ind", "🎓Pelajaran…", "belajar"),
]


def test_accents_capitals_and_typographic_signs_do_not_matter(api: APIClient, make: Make) -> None:
    persona = make("owl")
    for lang, written, typed in WRITTEN_AND_TYPED:
        if lang == "en":
            Persona.objects.filter(id="owl").update(tagline=written)
        else:
            text = {"name": "N", "tagline": written, "for_who": "F", "does": ["D"]}
            PersonaL10n.objects.update_or_create(persona=persona, lang=lang, defaults=text)
        assert "owl" in found(api, q=f"{typed} ", lang=lang), (written, typed)


def test_words_are_understood_in_the_language_that_is_asked_for(api: APIClient, make: Make) -> None:
    persona = make("owl", name="Zebrafish", tags=["opera"])
    PersonaL10n.objects.create(persona=persona, lang="es", name="Lechuza", tagline="T", for_who="F", does=["D"])
    assert found(api, q="lechuzas", lang="es") == ["owl"]
    assert found(api, q="opera", lang="es") == ["owl"]  # tags apply to all languages
    assert found(api, q="lechuzas") == []
    assert found(api, q="zebrafish", lang="es") == []
    assert found(api, q="zebrafish", lang="pt") == []


TYPED = {
    "zebrafish": ["both", "zebra"],
    "zebrafish heron": ["both"],
    "zebrafish or heron": ["both", "heron", "zebra"],
    '"heron zebrafish"': ["both"],
    '"zebrafish heron"': [],
    "zebrafish -heron": ["zebra"],
    'zebrafish -"heron zebrafish"': ["zebra"],
    "-heron zebrafish": ["zebra"],
    "zebr": ["both", "zebra"],
    "heron zeb": ["both"],
    "zebr ": [],
    "z": [],
    "zebr heron": [],
    "zebra-fish": [],
    "ZEBRAFISH!": ["both", "zebra"],
    "the zebrafish": ["both", "zebra"],
    "the": [],
    "…?! -": [],
    "-": [],
    '"': [],
    '""': [],
}


def test_what_visitors_type(api: APIClient, make: Make) -> None:
    make("both", name="Heron zebrafish")
    make("zebra", name="Zebrafish")
    make("heron", name="Heron")
    assert {typed: sorted(found(api, q=typed)) for typed in TYPED} == TYPED


HOSTILE = [
    *("' OR 1=1", "'; drop table catalog_persona; --", "a:* & b | !c", "<->", "%(rank)s %s {0}", "\\", "\\'", "(((("),
    *("!!", "a <2> b", "or", "or or or", "-or", "a or", "- - -", '-"', '"a', 'a"b', "''", ":*", "🎓🎓", "é" * 200),
    *(
        "\u202e",
        "\ufdfa" * 200,
        "\u0301",
        "１２",
        "日本語",
        "x" * 200,
        "a " * 100,
        "-a " * 66,
        '"a" ' * 50,
        "a-b-c --d",
    ),
    *("https://example.com/a?b=c", "a@b.example", "1e400", "0x7f", "\ufffe", "\u00a0", "I İ ı", "ﬀ", "\ufffd"),
]


def test_nothing_that_is_typed_is_an_error(api: APIClient) -> None:
    for lang in ArticleLang.values:
        answers = {typed: api.get("/personas", {"q": typed, "lang": lang}).status_code for typed in HOSTILE}
        assert set(answers.values()) == {200}, answers


def test_filters_hold_with_words_and_without(api: APIClient, make: Make) -> None:
    make("a", name="Zebrafish", category=Category.FUN, tier=TierId.SMALL)
    make("b", name="Zebrafish", category=Category.FUN, tier=TierId.LARGE)
    persona = make("c", name="Zebrafish", category=Category.TECH, tier=TierId.LARGE)
    PersonaL10n.objects.create(persona=persona, lang="tr", name="Zebrafish", tagline="T", for_who="F", does=["D"])
    assert found(api, q="zebrafish", category="fun") == ["a", "b"]
    assert found(api, q="zebrafish", tier="large") == ["b", "c"]
    assert found(api, q="zebrafish", category="fun", tier="large") == ["b"]
    assert found(api, q="zebrafish", lang="tr") == ["c"]
    everything = list(Persona.objects.prefetch_related("localizations"))
    assert found(api, category="fun") == [persona.id for persona in everything if persona.category == "fun"]
    assert found(api, tier="large") == [persona.id for persona in everything if persona.tier == "large"]
    assert found(api, lang="tr") == [persona.id for persona in everything if "tr" in persona.texts]
    assert found(api, lang="en") == [persona.id for persona in everything]


@pytest.mark.parametrize("query", [{"q": "zebrafish"}, {"category": "fun"}, {"q": "zebr", "tier": "small"}])
def test_pages_hold_every_persona_once_and_in_the_order_of_one_large_page(
    api: APIClient, make: Make, query: dict[str, str]
) -> None:
    for number in range(30):
        make(f"p-{number:02}", name="Zebrafish" if number % 3 else "Owl", tagline="A zebrafish", position=number % 4)
    whole = found(api, **query, limit=200)
    assert len(whole) >= 30
    for limit in (1, 7, 50):
        split = list(pages(api, **query, limit=limit))
        assert list(chain(*split)) == whole
        assert all(len(page) == limit for page in split[:-1])


@pytest.mark.parametrize("query", [{"q": "zebrafish"}, {"tier": "large"}])
def test_what_is_published_and_unpublished_between_pages_moves_nobody_else(
    api: APIClient, make: Make, query: dict[str, str]
) -> None:
    for number in range(20):
        make(f"p-{number:02}", name="Zebrafish", tier=TierId.LARGE)
    snapshot.forget()
    seen: list[str] = []
    reading = pages(api, **query, limit=4)
    for number, page in enumerate(reading):
        seen += page
        Persona.objects.filter(id=page[-1]).update(status=PersonaStatus.DRAFT)  # the next page begins after it
        make(f"a-{number}", name="Zebrafish", tier=TierId.LARGE)  # this one belongs before it
        snapshot.forget()
    assert seen == [f"p-{number:02}" for number in range(20)]


def test_whom_the_catalog_in_memory_does_not_have_is_passed_over(api: APIClient, make: Make) -> None:
    for number in range(3):
        make(f"p-{number}", name="Zebrafish")
    assert found(api, q="zebrafish", limit=2) == ["p-0", "p-1"]
    for number in range(20):
        make(f"a-{number:02}", name="Zebrafish")  # only in the database: the catalog does not hear of it
    assert list(chain(*pages(api, q="zebrafish", limit=2))) == ["p-0", "p-1", "p-2"]


@pytest.mark.parametrize("columns", [{"status": "draft"}, {"hidden": True}, {"gone": True}])
def test_what_is_not_public_is_never_found(api: APIClient, make: Make, columns: dict[str, object]) -> None:
    make("owl", name="Zebrafish", **columns)
    assert found(api, q="zebrafish") == []
    assert "owl" not in found(api, q="-nothing", limit=200)
    assert "owl" not in found(api, category="fun")
    Persona.objects.filter(id="owl").update(hidden=False, gone=False, status="published")
    assert found(api, q="zebrafish") == ["owl"]
    Persona.objects.filter(id="owl").update(**columns)
    assert found(api, q="zebrafish") == []


def test_every_way_of_writing_is_followed(api: APIClient, make: Make) -> None:
    owl = make("owl")
    owl.name = "Zebrafish"
    owl.save()
    assert found(api, q="zebrafish") == ["owl"]
    Persona.objects.filter(id="owl").update(name="Heron", category=Category.TECH)
    assert (found(api, q="zebrafish"), found(api, q="heron", category="tech")) == ([], ["owl"])
    Persona.objects.bulk_update([Persona(id="owl", tags=["stork"])], ["tags"])
    assert found(api, q="storks") == ["owl"]
    visibility.hide(Persona, ["owl"])
    assert found(api, q="heron") == []
    visibility.offer(Persona, ["owl"])
    assert found(api, q="heron") == ["owl"]
    Persona.objects.filter(id="owl").delete()
    assert not PersonaDocument.objects.filter(persona_id="owl").exists()


def test_every_way_of_writing_a_localization_is_followed(api: APIClient, make: Make) -> None:
    text = {"name": "Cebra", "tagline": "T", "for_who": "F", "does": ["D"]}
    [row] = PersonaL10n.objects.bulk_create([PersonaL10n(persona=make("owl"), lang="es", **text)])
    assert found(api, q="cebras", lang="es") == ["owl"]
    PersonaL10n.objects.filter(pk=row.pk).update(name="Garza")
    assert (found(api, q="cebras", lang="es"), found(api, q="garzas", lang="es")) == ([], ["owl"])
    visibility.hide(PersonaL10n, [row.pk])
    assert found(api, q="garzas", lang="es") == []
    visibility.offer(PersonaL10n, [row.pk])
    PersonaL10n.objects.filter(pk=row.pk).update(lang="pt")
    assert (found(api, q="garzas", lang="es"), found(api, q="garzas", lang="pt")) == ([], ["owl"])
    PersonaL10n.objects.filter(pk=row.pk).delete()
    assert found(api, q="garzas", lang="pt") == []


def test_a_text_of_any_length_can_be_saved(api: APIClient, make: Make) -> None:
    words = " ".join(f"zebra{number}" for number in range(200_000))
    make("owl", name="Zebrafish", for_who=words, does_examples={"Little": words}, tags=["t" * 40] * 5_000)
    assert found(api, q="zebrafish zebra1") == ["owl"]


def test_a_search_is_one_statement_and_a_filter_none(api: APIClient) -> None:
    found(api, lang="ru")
    queries: list[tuple[dict[str, str], int]] = [
        ({"q": "экзамен", "lang": "ru", "category": "study", "limit": "1"}, 1),
        ({"lang": "ru", "category": "study", "limit": "1"}, 0),
        ({"q": "?!"}, 0),
    ]
    for query, expected in queries:
        with CaptureQueriesContext(connection) as asked:
            api.get("/personas", query)
        # The catalog's version is checked once a second, in any request.
        assert len([one for one in asked.captured_queries if "catalog_catalogversion" not in one["sql"]]) == expected
