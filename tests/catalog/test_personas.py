"""Personas as agents use them, and how often they were deployed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from catalog import personas, snapshot
from catalog.models import Persona
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


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
    with django_assert_num_queries(2):
        personas.count_deployment("exam-coach")
    assert Persona.objects.get(id="exam-coach").deployed_count == 1
    assert snapshot.current() is before


def test_counting_a_persona_that_is_gone_does_nothing(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        personas.count_deployment("nobody")


def test_new_counts_are_shown_once_a_minute(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 0)  # look at each call; the minute is by the frozen clock
    later = timezone.now() + timedelta(days=1)
    with time_machine.travel(later, tick=False) as clock:
        first = snapshot.current()
        for _ in range(3):
            personas.count_deployment("exam-coach")
            clock.shift(15)
            assert snapshot.current() is first
            assert shown(api) == 0
        clock.shift(15)
        assert shown(api) == 3
        counted = snapshot.current()
        clock.shift(3600)
        assert snapshot.current() is counted
        personas.count_deployment("exam-coach")
        assert shown(api) == 3
        clock.shift(60)
        assert shown(api) == 4


def test_list_and_detail_show_one_count(api: APIClient) -> None:
    api.get("/personas")
    personas.count_deployment("exam-coach")
    assert shown(api) == api.get("/personas/exam-coach").json()["persona"]["deployedCount"]


def shown(api: APIClient) -> int:
    listed = {persona["id"]: persona["deployedCount"] for persona in api.get("/personas").json()["personas"]}
    return int(listed["exam-coach"])
