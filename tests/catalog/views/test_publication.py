"""The catalog's answers as bytes."""

from __future__ import annotations

import threading

import pytest
from rest_framework.test import APIClient

from catalog import personas, snapshot
from catalog.views import publication

pytestmark = pytest.mark.usefixtures("catalog")


def test_an_answer_is_encoded_once_per_version() -> None:
    made: list[int] = []

    def content() -> dict[str, int]:
        made.append(1)
        return {"value": len(made)}

    first = publication.published("test", content)
    assert publication.published("test", content) is first
    assert first.plain.body == b'{"value":1}'
    snapshot.forget()
    assert publication.published("test", content).plain.body == b'{"value":2}'


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
    assert first.plain.body == '{"text":"Ü"}'.encode()


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
    asks.join(10)  # without end, were it to wait
    meanwhile = [*other]
    goes_on.set()
    thread.join()
    asks.join()
    assert [answer.plain.body for answer in meanwhile] == [b"{}"]


def test_pages_of_personas_leave_nothing_in_memory(api: APIClient) -> None:
    api.get("/personas")
    kept = len(publication._current().made)
    assert {api.get(f"/personas/{persona.id}").status_code for persona in personas.public()} == {200}
    assert len(publication._current().made) == kept
