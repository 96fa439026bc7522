"""The endpoint POST /personas/{id}/publish."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import sessions
from accounts.models import User
from catalog import snapshot
from catalog.models import CatalogVersion, Persona
from tests.catalog.writing import FULL, SMALL, Writer
from tests.webs import Web

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


@pytest.mark.sampled
def test_two_web_processes_show_what_is_published_within_a_second(webs: list[Web]) -> None:
    token = sessions.start(User.objects.create_user("a@example.com"), attribution=None, now=timezone.now())[1]
    writing, reading = webs
    path = f"/personas/{writing.send('POST', '/personas', FULL, token=token).json()['persona']['id']}"
    assert [web.get(path).status_code for web in webs] == [404, 404]  # both have just checked the catalog
    steps: list[tuple[str, str, Any, str | None]] = [
        ("POST", f"{path}/publish", None, FULL["soul"]),
        ("PATCH", path, {"soul": "You are another."}, "You are another."),
        ("POST", f"{path}/unpublish", None, None),
    ]
    for method, where, body, soul in steps:
        assert writing.send(method, where, body, token=token).ok
        time.sleep(1.0)
        answers = [web.get(path) for web in (writing, reading)]
        assert len({answer.content for answer in answers}) == 1
        assert answers[0].json().get("persona", {}).get("soul") == soul


@pytest.mark.parametrize("verb", ["publish", "unpublish"])
def test_only_the_author_publishes(writer: Writer, stranger: Writer, api: APIClient, verb: str) -> None:
    path = f"/personas/{writer.draft()['id']}/{verb}"
    stranger.refusal("POST", path, status=404)
    writer.refusal("POST", f"/personas/nobody/{verb}", status=404)
    assert "built in" in writer.refusal("POST", f"/personas/exam-coach/{verb}", status=403)
    assert api.post(path).status_code == 401
