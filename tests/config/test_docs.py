from __future__ import annotations

import gzip
import json
import re

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


def test_the_page_asks_nobody_else_for_anything(api: APIClient) -> None:
    page = api.get("/docs").content.decode()
    addresses = re.findall(r'(?:src|href|url)[=:]\s*"([^"]+)"', page)
    assert addresses
    assert all(address.startswith(("/static/", "/openapi.json")) for address in addresses)


def test_the_page_runs_only_our_own_scripts(api: APIClient) -> None:
    answer = api.get("/docs")
    policy = answer["Content-Security-Policy"]
    nonce = re.search(r"'nonce-([\w-]+)'", policy)
    assert nonce is not None
    assert policy.startswith("default-src 'none'; script-src 'self' 'nonce-")
    assert "unsafe" not in policy
    inline = re.findall(r"<script(?![^>]*src)([^>]*)>", answer.content.decode())
    assert inline == [f' nonce="{nonce[1]}"']
    assert api.get("/docs")["Content-Security-Policy"] != policy


def test_other_methods_are_refused_in_the_error_body(api: APIClient) -> None:
    for path in ("/openapi.json", "/docs"):
        answer = api.post(path)
        assert answer.status_code == 405
        assert set(answer.json()) == {"error", "message"}
