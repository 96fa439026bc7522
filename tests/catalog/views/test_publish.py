"""POST /personas/{id}/publish"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from rest_framework.test import APIClient

from catalog import snapshot
from catalog.models import CatalogVersion, Persona
from tests.catalog.writing import FULL, SMALL, Writer

pytestmark = pytest.mark.usefixtures("shelf")

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_a_complete_draft_is_published_and_public(writer: Writer, api: APIClient) -> None:
    persona = writer.draft()
    assert api.get(f"/personas/{persona['id']}").status_code == 404
    published = writer.post(f"/personas/{persona['id']}/publish")
    assert published == {"persona": persona | {"status": "published"}}
    snapshot.forget()
    assert api.get(f"/personas/{persona['id']}").json() == {**published, "articles": []}
    assert published["persona"] in api.get("/personas").json()["personas"]


def test_the_smallest_persona_that_can_be_published(writer: Writer) -> None:
    draft = writer.post("/personas", SMALL)["persona"]
    assert writer.post(f"/personas/{draft['id']}/publish")["persona"]["status"] == "published"


def test_what_is_missing_is_named(writer: Writer) -> None:
    for field in (field for field in SMALL if field != "name"):
        draft = writer.post("/personas", {name: value for name, value in SMALL.items() if name != field})["persona"]
        path = f"/personas/{draft['id']}"
        assert writer.refusal("POST", f"{path}/publish").startswith(f"{field}: is needed")
        assert writer.get(f"/me{path}")["persona"]["status"] == "draft"
        writer.patch(path, {field: SMALL[field]})
        writer.post(f"{path}/publish")


def test_the_first_of_several_missing_fields_is_named(writer: Writer) -> None:
    path = f"/personas/{writer.post('/personas', {'name': 'Owl'})['persona']['id']}"
    for field in ("tagline", "forWho", "does", "category", "tier", "soul"):
        assert writer.refusal("POST", f"{path}/publish").startswith(f"{field}: ")
        writer.patch(path, {field: SMALL[field]})
    writer.post(f"{path}/publish")


def test_what_does_not_fit_together_is_named(writer: Writer) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"disclaimer": None}, "disclaimer: is needed when the risk is high"),
        ({"disclaimer": ""}, "disclaimer: is needed when the risk is high"),
        ({"ru": FULL["ru"] | {"disclaimer": None}}, "ru.disclaimer: is needed when the risk is high"),
        ({"ru": FULL["ru"] | {"does": ["Одно"]}}, "ru.does: has 1 labels where `does` has 2"),
        ({"does": ["Sleeps"], "ru": None}, "doesExamples: must have exactly the labels of `does`; differs in: Keeps"),
    ]
    for texts, problem in wrong:
        path = f"/personas/{writer.draft()['id']}"
        writer.patch(path, texts)
        assert writer.refusal("POST", f"{path}/publish").startswith(problem)


def test_low_risk_needs_no_disclaimer(writer: Writer) -> None:
    assert writer.published(risk="low", disclaimer=None, ru=None)["disclaimer"] is None


def test_publishing_again_changes_nothing(writer: Writer) -> None:
    path = f"/personas/{writer.draft()['id']}/publish"
    with time_machine.travel(NOON, tick=False):
        first = writer.post(path)
    row, version = Persona.objects.filter(owner=writer.user).values(), CatalogVersion.objects.values()
    before = (list(row), list(version))
    assert writer.post(path) == first
    assert (list(row.all()), list(version.all())) == before


def test_what_is_published_waits_for_the_moderators(writer: Writer) -> None:
    with time_machine.travel(NOON, tick=False):
        persona = writer.published()
    row = Persona.objects.get(pk=persona["id"])
    assert (row.published_at, row.reviewed_at) == (NOON, None)


@pytest.mark.parametrize("verb", ["publish", "unpublish"])
def test_only_the_author_publishes(writer: Writer, stranger: Writer, api: APIClient, verb: str) -> None:
    path = f"/personas/{writer.draft()['id']}/{verb}"
    stranger.refusal("POST", path, status=404)
    writer.refusal("POST", f"/personas/nobody/{verb}", status=404)
    assert "built in" in writer.refusal("POST", f"/personas/exam-coach/{verb}", status=403)
    assert api.post(path).status_code == 401
