"""The endpoint POST /personas/{id}/unpublish."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from catalog import personas, snapshot
from catalog.models import CatalogVersion, Persona
from tests.catalog.writing import FULL, Writer

pytestmark = pytest.mark.usefixtures("shelf")


def test_an_unpublished_persona_is_a_draft_that_only_its_author_sees(writer: Writer, api: APIClient) -> None:
    persona = writer.published()
    assert writer.post(f"/personas/{persona['id']}/unpublish") == {"persona": persona | {"status": "draft"}}
    snapshot.forget()
    assert api.get(f"/personas/{persona['id']}").status_code == 404
    assert persona["id"] not in {listed["id"] for listed in api.get("/personas").json()["personas"]}
    assert writer.get(f"/me/personas/{persona['id']}")["persona"] == persona | {"status": "draft"}


def test_unpublishing_a_draft_changes_nothing(writer: Writer) -> None:
    draft = writer.draft()
    before = CatalogVersion.objects.get().token
    assert writer.post(f"/personas/{draft['id']}/unpublish") == {"persona": draft}
    assert CatalogVersion.objects.get().token == before


def test_it_leaves_the_moderators_queue_and_may_come_back(writer: Writer) -> None:
    path = f"/personas/{writer.published()['id']}"
    writer.post(f"{path}/unpublish")
    row = Persona.objects.get(owner=writer.user)
    assert (row.published_at, row.reviewed_at) == (None, None)
    assert writer.post(f"{path}/publish")["persona"]["status"] == "published"


def test_agents_keep_the_model_that_a_draft_recommends(writer: Writer) -> None:
    persona = writer.published()
    writer.post(f"/personas/{persona['id']}/unpublish")
    snapshot.forget()
    assert personas.recommended_models(persona["id"]) == FULL["recommendedModels"]
    assert personas.current_soul(persona["id"]) is None
    writer.delete(f"/personas/{persona['id']}")
    assert personas.recommended_models(persona["id"]) == []
