"""Articles written at the same time: a request that waits for the parser holds no connection, and few may wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from catalog import markdown
from catalog.models import Article
from tests.catalog.writing import Writer
from tests.patience import Patience

pytestmark = [pytest.mark.usefixtures("shelf"), pytest.mark.django_db(transaction=True)]

PATIENCE = 60.0


def eventually(holds: Callable[[], bool]) -> None:
    patience = Patience(PATIENCE)
    while not holds():
        assert not patience.ended(), "never came true"
        time.sleep(0.01)


def test_an_author_has_two_renderings_at_once_and_neither_holds_a_connection(writer: Writer) -> None:
    path = f"/personas/{writer.published()['id']}/articles"
    body = {"title": "Staying awake", "lang": "en"}

    def write(number: int) -> Any:
        try:
            return writer.api.post(path, body | {"body": f"# Coffee {number}"}, format="json")
        finally:
            connection.close()

    in_use = Connections()
    held = in_use()  # used by leftovers of other tests
    with ThreadPoolExecutor(2) as authors:
        with markdown._one_at_a_time:
            waiting = [authors.submit(write, number) for number in range(2)]
            eventually(lambda: markdown.queue._inside.total() == 2)
            eventually(lambda: in_use() <= held)
            third = writer.api.post(path, body | {"body": "# Tea"}, format="json")
            assert (third.status_code, third["Retry-After"]) == (503, "3")
            assert third.json()["error"] == "INTERNAL"
        assert [each.result().status_code for each in waiting] == [200, 200]
    assert Article.objects.count() == 2
    assert writer.api.post(path, body | {"body": "# Tea"}, format="json").status_code == 200


class Connections:
    """The number of pooled connections that other threads hold."""

    def __call__(self) -> int:
        connection.close()
        stats = connection.pool.get_stats()  # type: ignore[attr-defined]  # PostgreSQL's, with a pool
        return int(stats["pool_size"]) - int(stats["pool_available"])


def test_a_process_has_places_for_eight(writer: Writer) -> None:
    everybody = [markdown.queue.place(f"usr_{number}") for number in range(markdown.PLACES)]
    path = f"/personas/{writer.published()['id']}/articles"
    for place in everybody:
        place.__enter__()
    try:
        refused = writer.api.post(path, {"title": "T", "lang": "en", "body": "x"}, format="json")
    finally:
        for place in everybody:
            place.__exit__(None, None, None)
    assert refused.status_code == 503
    assert not markdown.queue._inside
    assert writer.api.post(path, {"title": "T", "lang": "en", "body": "x"}, format="json").status_code == 200
