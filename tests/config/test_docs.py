from __future__ import annotations

import gzip
import json

from rest_framework.test import APIClient


def test_the_document_is_served_as_json_with_an_etag(api: APIClient) -> None:
    answer = api.get("/openapi.json")
    assert answer["Content-Type"] == "application/json"
    assert answer.json()["openapi"] == "3.1.0"
    again = api.get("/openapi.json", HTTP_IF_NONE_MATCH=answer["ETag"])
    assert (again.status_code, again.content) == (304, b"")


def test_the_document_is_served_gzipped_to_whoever_takes_it(api: APIClient) -> None:
    plain, zipped = api.get("/openapi.json"), api.get("/openapi.json", HTTP_ACCEPT_ENCODING="gzip, br")
    assert zipped["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(zipped.content)) == plain.json()
    assert "Accept-Encoding" in zipped["Vary"]


def test_other_methods_are_refused_in_the_error_body(api: APIClient) -> None:
    for path in ("/openapi.json", "/docs"):
        answer = api.post(path)
        assert answer.status_code == 405
        assert set(answer.json()) == {"error", "message"}
