"""Personas for agents, and the count of their deployments."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import personas, snapshot, tasks
from catalog.models import Persona
from config.celery import BEAT
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def unpublish(persona: Persona) -> None:
    Persona.objects.filter(id=persona.id).update(status="draft")
    snapshot.forget()


def test_a_public_persona_gives_what_an_agent_takes() -> None:
    persona = personas.public_persona("exam-coach")
    assert (persona.id, persona.name) == ("exam-coach", "Exam Coach")
    assert "You are Exam Coach" in persona.soul
    assert persona.recommended_models[0] == "openai:gpt-6-luna"


def test_an_unknown_or_unpublished_persona_names_the_field(community: Persona) -> None:
    unpublish(community)
    for persona_id in ("nobody", community.id):
        with pytest.raises(BadRequest, match=f"^personaId: '{persona_id}' is not a public persona; GET /personas"):
            personas.public_persona(persona_id)


def test_a_rebuild_takes_the_current_soul_and_keeps_the_old_one_when_there_is_none(community: Persona) -> None:
    assert personas.current_soul(community.id) == "You are Night Owl."
    unpublish(community)
    assert personas.current_soul(community.id) is None
    assert personas.current_soul("nobody") is None


def test_recommended_models_outlive_the_publication(community: Persona) -> None:
    assert personas.recommended_models("exam-coach")
    unpublish(community)
    assert personas.recommended_models(community.id) == []
    assert personas.recommended_models("nobody") == []


def test_a_first_running_is_counted_without_the_catalog_being_read_anew(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    before = snapshot.current()
    with django_assert_num_queries(1):
        personas.count_deployment("exam-coach")
    assert Persona.objects.get(id="exam-coach").deployments == 1
    assert snapshot.look() is before


def test_counting_a_persona_that_is_gone_does_nothing(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        personas.count_deployment("nobody")


def test_new_counts_are_shown_when_their_minute_comes() -> None:
    for _ in range(3):
        personas.count_deployment("exam-coach")
    tasks.show_deployments()
    assert snapshot.look().personas["exam-coach"].deployed_count == 3
    shown = snapshot.current()
    tasks.show_deployments()
    assert snapshot.look() is shown
    assert BEAT["catalog.show_deployments"][1] == 60


def test_a_count_waits_for_its_minute_whatever_else_changes(api: APIClient, community: Persona) -> None:
    personas.count_deployment("exam-coach")
    community.save()
    Persona.objects.get(id="exam-coach").save(update_fields=["tagline"])
    snapshot.look()
    assert shown(api) == 0
    tasks.show_deployments()
    snapshot.look()
    assert shown(api) == 1


@pytest.mark.django_db(transaction=True)
def test_a_persona_that_somebody_holds_shows_its_count_a_minute_later() -> None:
    for persona_id in ("exam-coach", "budget-coach"):
        personas.count_deployment(persona_id)
    shown: list[int] = []

    def show() -> None:
        shown.append(personas.show_deployments())
        connection.close()

    with transaction.atomic():
        Persona.objects.select_for_update().get(id="exam-coach")
        thread = threading.Thread(target=show)
        thread.start()
        thread.join()
    assert shown == [1]
    assert personas.show_deployments() == 1


def test_list_and_detail_show_one_count(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # so that the catalog is checked only here
    snapshot.look()
    for count in (1, 2):
        personas.count_deployment("exam-coach")
        tasks.show_deployments()
        assert (shown(api), detailed(api)) == (count - 1, count - 1)
        snapshot.look()
        assert (shown(api), detailed(api)) == (count, count)


def detailed(api: APIClient) -> int:
    return int(api.get("/personas/exam-coach").json()["persona"]["deployedCount"])


def shown(api: APIClient) -> int:
    listed = {persona["id"]: persona["deployedCount"] for persona in api.get("/personas").json()["personas"]}
    return int(listed["exam-coach"])
