"""Each refusal leads to its place in the documentation, and each answer has a `Request-Id`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db

REFUSED: tuple[tuple[str, str, Any, int, str], ...] = (
    ("POST", "/auth/request", {"email": 5}, 400, "requestSignInCode"),
    ("GET", "/agents", {}, 401, "listAgents"),
    ("DELETE", "/agents/agt_none", {}, 401, "deleteAgent"),
    ("POST", "/agents/agt_none/pause", {}, 401, "pauseAgent"),
    ("HEAD", "/agents/agt_none", {}, 401, "getAgent"),
    ("POST", "/personas/nobody/publish", {}, 401, "publishPersona"),
    ("GET", "/personas/nobody", {}, 404, "getPersona"),
    ("POST", "/tiers", {}, 405, "errors"),
    ("OPTIONS", "/tiers", {}, 405, "errors"),
    ("GET", "/nothing/like/it", {}, 404, "operations"),
)


def ask(api: APIClient, method: str, path: str, body: Any, **headers: str) -> Any:
    return api.generic(method, path, json.dumps(body), "application/json", headers=headers)


def test_a_refusal_links_to_what_the_documentation_says_of_the_call(api: APIClient) -> None:
    docs = api.get("/docs").content.decode()
    for method, path, body, status, place in REFUSED:
        answer = ask(api, method, path, body)
        assert (answer.status_code, answer["Link"]) == (status, f'<{settings.BASE_URL}/docs#{place}>; rel="help"'), path
        assert f'id="{place}"' in docs, place
        assert method == "HEAD" or set(answer.json()) <= {"error", "message"}


def test_what_is_not_refused_and_what_people_open_has_no_such_link(api: APIClient) -> None:
    for path, accept in (("/tiers", "*/*"), ("/robots.txt", "*/*"), ("/p/nobody", "application/xhtml+xml")):
        assert 'rel="help"' not in api.get(path, headers={"Accept": accept}).get("Link", "")


def test_every_answer_has_a_request_id_of_its_own(api: APIClient) -> None:
    asked = [(method, path, body) for method, path, body, *_ in REFUSED]
    asked += [("GET", "/llms.txt", {}), ("HEAD", "/tiers", {})]
    answers = [ask(api, *one) for one in asked]
    answers.append(api.get("/tiers", headers={"Host": "scanner.example"}))
    ids = [answer["Request-Id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    assert all(one.startswith("req_") for one in ids)
