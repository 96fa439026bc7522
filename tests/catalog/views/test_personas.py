"""The endpoints GET /personas and GET /personas/{id}."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import snapshot
from catalog.models import Article, Persona, PersonaL10n
from catalog.vocabulary import Category

pytestmark = [pytest.mark.usefixtures("catalog"), pytest.mark.unmeasured]

REQUIRED = {
    "id", "icon", "name", "tagline", "forWho", "does", "skills", "channels", "category", "tags", "tier", "spec",
    "price", "risk", "disclaimer", "author", "status", "soul", "deployedCount", "recommendedModels",
}  # fmt: skip
LANGUAGES = {"ru", "es", "pt", "tr", "ind"}
L10N = {"name", "tagline", "forWho", "does", "doesExamples", "demo"}


def test_a_built_in_persona_has_exactly_the_fields_of_the_spec(api: APIClient) -> None:
    body = api.get("/personas").json()
    assert set(body) == {"personas"}
    assert len(body["personas"]) >= 4
    for persona in body["personas"]:
        assert set(persona) == REQUIRED | LANGUAGES | {"doesExamples", "demo"}
        assert list(persona["doesExamples"]) == persona["does"]
        assert persona["status"] == "builtin"
        assert all(set(line) == {"role", "text"} for line in persona["demo"])


def test_localizations_have_a_disclaimer_only_where_the_persona_has_one(api: APIClient) -> None:
    for persona in api.get("/personas").json()["personas"]:
        expected = L10N | ({"disclaimer"} if persona["disclaimer"] else set())
        assert {frozenset(persona[language]) for language in LANGUAGES} == {frozenset(expected)}
        assert all(list(persona[lang]["doesExamples"]) == persona[lang]["does"] for lang in LANGUAGES)


def test_what_touches_money_is_high_risk_and_says_so(api: APIClient) -> None:
    persona = api.get("/personas/budget-coach").json()["persona"]
    assert persona["risk"] == "high"
    assert persona["disclaimer"]
    assert all(persona[language]["disclaimer"] for language in LANGUAGES)


def test_price_and_spec_are_those_of_the_tier(api: APIClient, community: Persona) -> None:
    persona = api.get("/personas/night-owl").json()["persona"]
    assert (persona["tier"], persona["price"]) == ("small", "$9/month")
    assert persona["spec"] == "1 GiB RAM, 5 GiB disk, 0.5 CPU"


def test_a_community_persona_names_its_author_and_leaves_out_what_it_has_not(
    api: APIClient, community: Persona
) -> None:
    persona = api.get("/personas/night-owl").json()["persona"]
    assert set(persona) == REQUIRED | {"authorId"}
    assert (persona["authorId"], persona["author"], persona["status"]) == (community.owner_id, "Olga", "published")
    assert persona["disclaimer"] is None
    assert "night-owl" in {listed["id"] for listed in api.get("/personas").json()["personas"]}


def test_a_partly_localized_persona_has_the_languages_it_has(api: APIClient, community: Persona) -> None:
    PersonaL10n.objects.create(
        persona=community, lang="ind", name="Burung Hantu", tagline="Teman", for_who="Pekerja malam", does=["Menemani"]
    )
    persona = api.get("/personas/night-owl").json()["persona"]
    assert set(persona) == REQUIRED | {"authorId", "ind"}
    assert set(persona["ind"]) == {"name", "tagline", "forWho", "does"}


@pytest.mark.parametrize("columns", [{"hidden": True}, {"gone": True}, {"status": "draft"}])
def test_what_is_not_public_is_not_found(api: APIClient, community: Persona, columns: dict[str, object]) -> None:
    Persona.objects.filter(id="night-owl").update(**columns)
    assert "night-owl" not in {listed["id"] for listed in api.get("/personas").json()["personas"]}
    assert api.get("/personas/night-owl").status_code == 404


@pytest.mark.parametrize(
    "id", ["nobody", "Exam-Coach", "exam-coach%00", "%F0%9F%A6%89", "a" * 5000, "%2e%2e", "exam%2fcoach"]
)
def test_an_unknown_persona_is_answered_with_the_error_alone(api: APIClient, id: str) -> None:
    answer = api.get(f"/personas/{id}")
    assert answer.status_code == 404
    if "2f" not in id:
        assert answer.json() == {"error": "NOT_FOUND"}
        assert "ETag" not in answer


def test_the_detail_is_the_list_entry_with_published_articles_without_bodies(
    api: APIClient, community: Persona
) -> None:
    article = Article.objects.create(
        persona=community, slug="first", title="First", summary="How", body="# Secret", status="published"
    )
    Article.objects.create(persona=community, slug="second", title="Second", body="x")
    body = api.get("/personas/night-owl").json()
    assert set(body) == {"persona", "articles"}
    assert body["persona"] in api.get("/personas").json()["personas"]
    [listed] = body["articles"]
    assert set(listed) == {"id", "personaId", "slug", "title", "summary", "lang", "status", "createdAt", "updatedAt"}
    assert (listed["id"], listed["personaId"], listed["slug"]) == (article.id, "night-owl", "first")


def test_built_in_personas_come_by_category(api: APIClient) -> None:
    found = [(persona["category"], persona["id"]) for persona in api.get("/personas").json()["personas"]]
    assert found == sorted(found, key=lambda place: (Category.values.index(place[0]), place[1]))
    assert ("gaming", "game-master") in found


def test_reading_the_catalog_takes_the_same_queries_for_any_number_of_personas(
    api: APIClient, community: Persona, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    copies = [Persona(**{**_columns(community), "id": f"owl-{number}"}) for number in range(20)]
    few = Persona.objects.count()
    for expected in (few, few + 20):
        snapshot.forget()
        with django_assert_num_queries(11):
            assert len(api.get("/personas").json()["personas"]) == expected
        Persona.objects.bulk_create(copies) if expected == few else None


def _columns(persona: Persona) -> dict[str, object]:
    return {name: getattr(persona, name) for name in Persona.column_names()}
