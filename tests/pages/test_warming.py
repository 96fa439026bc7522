"""A web process reads changes of the catalog in a thread of its own, beside its requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import loading, snapshot
from catalog.models import Persona, Tier
from catalog.serializers.catalog import PersonaSerializer
from catalog.views import publication
from pages import warming
from pages.public import persona_lists, sitemap


@pytest.fixture(autouse=True)
def fresh_memory() -> Iterator[None]:
    """Forget the catalog in memory, so that no test sees the catalog of another test."""
    snapshot.forget()
    yield
    snapshot.forget()


@pytest.mark.usefixtures("catalog")
def test_what_was_warmed_costs_a_request_nothing(
    api: APIClient,
    community: Persona,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # only the thread checks the version
    snapshot.look()
    ready = publication.all_personas()
    with django_assert_num_queries(0):
        assert api.get("/personas").content == b"".join(ready.plain.chunks)
        assert api.get(f"/personas/{community.id}").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_one_look_sees_a_change_at_once_and_gives_its_connection_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # only the thread checks the version
    loading.load()
    snapshot.current()
    Persona.objects.get(id="exam-coach").save()
    seen: list[snapshot.Snapshot] = []
    closed: list[bool] = []

    def look() -> None:
        warming.once()
        seen.append(snapshot.current())
        closed.append(connection.connection is None)

    before = snapshot.current()
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen[0] is not before
    assert closed == [True]


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_left_alone_for_some_seconds() -> None:
    loading.load()
    before = snapshot.current()
    asked: list[str] = []

    def refuse(execute: object, sql: str, *_: object) -> None:
        asked.append(sql)
        raise OperationalError("the server is away")

    with connection.execute_wrapper(refuse):
        assert [snapshot.look() for _ in range(3)] == [before] * 3
    assert len(asked) == 1


@pytest.mark.usefixtures("catalog")
def test_publishing_one_persona_encodes_one(community: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    serialize = PersonaSerializer.to_representation

    def noted(self: PersonaSerializer, persona: Persona) -> dict[str, object]:
        encoded.append(persona.id)
        return serialize(self, persona)

    monkeypatch.setattr(PersonaSerializer, "to_representation", noted)
    snapshot.look()
    publication.all_personas()
    encoded.clear()
    community.save()
    snapshot.look()
    body = b"".join(publication.all_personas().plain.chunks)
    assert encoded == [community.id]
    assert b'"night-owl"' in body


@pytest.mark.usefixtures("catalog")
def test_another_price_of_a_plan_is_shown_by_its_personas(api: APIClient, community: Persona) -> None:
    api.get("/personas/night-owl")
    tier = Tier.objects.get(id="small")
    tier.monthly_usd += 1
    tier.save()
    snapshot.look()
    assert api.get("/personas/night-owl").json()["persona"]["price"] == "$10/month"
    listed = api.get("/personas").json()["personas"]
    assert {one["price"] for one in listed if one["tier"] == "small"} == {"$10/month"}


@pytest.mark.usefixtures("catalog")
def test_shelves_and_sitemap_are_those_of_the_catalog_now(community: Persona) -> None:
    warming.once()
    sorted_once, listed_once = persona_lists.current(), sitemap.listed()
    assert community.id in {one.id for one in sorted_once.newest}
    warming.once()
    assert persona_lists.current() is sorted_once
    assert sitemap.listed() is listed_once
