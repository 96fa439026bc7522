"""POST /personas/{id}/publish"""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from catalog import snapshot
from tests.catalog.writing import Writer

pytestmark = pytest.mark.usefixtures("catalog")


def test_a_complete_draft_is_published_and_public(writer: Writer, api: APIClient) -> None:
    persona = writer.draft()
    assert api.get(f"/personas/{persona['id']}").status_code == 404
    published = writer.post(f"/personas/{persona['id']}/publish")
    assert published == {"persona": persona | {"status": "published"}}
    snapshot.forget()
    assert api.get(f"/personas/{persona['id']}").json() == {**published, "articles": []}
    assert published["persona"] in api.get("/personas").json()["personas"]
