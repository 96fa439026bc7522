"""The catalog's answers as cached bytes."""

from __future__ import annotations

import gzip
import threading

import pytest
from rest_framework.test import APIClient

from catalog import personas, snapshot
from catalog.models import Persona
from catalog.serializers.catalog import PersonaSerializer
from catalog.views import publication

pytestmark = pytest.mark.usefixtures("catalog")


def test_an_answer_is_encoded_once_per_version() -> None:
    made: list[int] = []

    def content() -> dict[str, int]:
        made.append(1)
        return {"value": len(made)}

    first = publication.published("test", content)
    assert publication.published("test", content) is first
    assert first.plain.chunks == (b'{"value":1}',)
    snapshot.forget()
    assert publication.published("test", content).plain.chunks == (b'{"value":2}',)


def test_chosen_fields_are_cut_out_of_what_is_encoded_already() -> None:
    api = APIClient()
    persona = Persona.objects.order_by("pk").first()
    assert persona is not None
    persona.tagline = 'Odd: \u2028 \u2029 ",":{}[] \\" "id": é 😀'
    persona.save()
    snapshot.forget()
    whole = api.get("/personas").json()["personas"]
    assert any("\u2028" in one["tagline"] for one in whole)
    names = sorted({name for one in whole for name in one})
    for chosen in (names, *([name] for name in names), names[::2], names[1::2]):
        only = [{name: value for name, value in one.items() if name in chosen} for one in whole]
        shown = api.get(f"/personas?fields={','.join(chosen)}")
        assert shown.json() == {"personas": only}
        assert [[*one] for one in shown.json()["personas"]] == [[*one] for one in only]
    page = api.get("/personas?fields=id,name&limit=2&category=")
    assert [[*one] for one in page.json()["personas"]] == [["id", "name"]] * 2
    assert "fields=id%2Cname" in page["Link"]


def test_threads_that_come_together_encode_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # other threads cannot see this test's database
    made: list[int] = []
    start = threading.Barrier(8)
    snapshot.current()

    def content() -> dict[str, int]:
        made.append(1)
        return {"value": len(made)}

    def ask() -> None:
        start.wait()
        publication.published("together", content)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_the_same_content_has_the_same_tags_in_every_process() -> None:
    first = publication.published("same", lambda: {"text": "Ü"})
    snapshot.forget()
    again = publication.published("same", lambda: {"text": "Ü"})
    assert again is not first
    assert (again.plain.etag, again.compressed.etag) == (first.plain.etag, first.compressed.etag)
    assert first.plain.chunks == ('{"text":"Ü"}'.encode(),)


def test_nobody_waits_for_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # other threads cannot see this test's database
    snapshot.current()
    begun, goes_on = threading.Event(), threading.Event()

    def long() -> dict[str, int]:
        begun.set()
        goes_on.wait()
        return {}

    thread = threading.Thread(target=publication.published, args=("long", long))
    thread.start()
    begun.wait()
    other: list[publication.Published] = []
    asks = threading.Thread(target=lambda: other.append(publication.published("short", dict)))
    asks.start()
    asks.join(10)  # without this limit, a waiting thread would hang the test
    meanwhile = [*other]
    goes_on.set()
    thread.join()
    asks.join()
    assert [answer.plain.chunks for answer in meanwhile] == [(b"{}",)]


def test_pages_of_personas_leave_nothing_in_memory(api: APIClient) -> None:
    api.get("/personas")
    kept = len(publication._current().made)
    assert {api.get(f"/personas/{persona.id}").status_code for persona in personas.public()} == {200}
    assert len(publication._current().made) == kept


def test_while_the_next_list_is_made_list_and_pages_are_of_the_one_before(
    api: APIClient, community: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication.renew()
    monkeypatch.setattr(snapshot, "CHECK_SECONDS", 600)  # as if `renew` had just checked
    tagline, seen = community.tagline, list[str]()
    community.tagline = "Another one"
    community.save()
    serialize = PersonaSerializer.to_representation

    def asked_meanwhile(self: PersonaSerializer, persona: Persona) -> dict[str, object]:
        if not seen:
            seen.append("asked")
            seen.append(_listed(api, community.id))
            seen.append(api.get(f"/personas/{community.id}").json()["persona"]["tagline"])
        return serialize(self, persona)

    monkeypatch.setattr(PersonaSerializer, "to_representation", asked_meanwhile)
    publication.renew()
    assert seen == ["asked", tagline, tagline]
    assert _listed(api, community.id) == "Another one"
    assert api.get(f"/personas/{community.id}").json()["persona"]["tagline"] == "Another one"


def _listed(api: APIClient, persona_id: str) -> str:
    listed = {persona["id"]: persona for persona in api.get("/personas").json()["personas"]}
    tagline: str = listed[persona_id]["tagline"]
    return tagline


def test_nothing_changed_makes_nothing_anew() -> None:
    publication.renew()
    before = publication.all_personas()
    publication.renew()
    assert publication.all_personas() is before


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_large_answer_is_the_same_bytes_in_chunks(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    whole = api.get("/personas", HTTP_ACCEPT_ENCODING=encoding)
    monkeypatch.setattr(publication, "CHUNK_BYTES", 10_000)
    snapshot.forget()
    response = api.get("/personas", HTTP_ACCEPT_ENCODING=encoding)
    assert len(list(response)) > 10
    assert response.content == whole.content
    assert int(response["Content-Length"]) == len(response.content)
    for header in ("ETag", "Vary", "Content-Encoding"):
        assert response.get(header) == whole.get(header)
    if encoding == "gzip":
        assert gzip.decompress(response.content) == api.get("/personas").content
