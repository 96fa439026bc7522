"""`?fields=` of every read of the API (config/shown_fields.py)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from config import shown_fields
from config.docs import document as openapi
from tests.agents.conftest import PERSONA

pytestmark = pytest.mark.django_db

# path, what the answer is about (None: the answer itself), a field of that
READS = [
    ("/agents/{id}/events", "events", "type"),
    ("/agents/{id}/usage", "usage", "total"),
    ("/agents/{id}/webhook/deliveries", "deliveries", "attempts"),
    ("/agents/{id}/backups", "backups", "name"),
    ("/agents/{id}/term", "term", "mode"),
    ("/agents/{id}/limits", "limits", "usdPerDay"),
    ("/events", "events", "id"),
    ("/subscriptions", "subscriptions", "id"),
    ("/crypto/orders", "orders", "status"),
    ("/me", "user", "email"),
    ("/me/personas", "personas", "id"),
    ("/personas", "personas", "name"),
    (f"/personas/{PERSONA}", "persona", "name"),
    ("/personas?limit=1", "personas", "id"),
    ("/tiers", "tiers", "monthlyUsd"),
    ("/engines", "engines", "id"),
    ("/health", None, "status"),
    ("/status", None, "version"),
]


def and_fields(path: str, fields: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}fields={fields}"


def only(shown: Any, field: str) -> Any:
    return [only(one, field) for one in shown] if isinstance(shown, list) else {field: shown[field]}


@pytest.mark.parametrize(("path", "about", "field"), READS)
def test_a_read_shows_the_chosen_field_alone_and_refuses_an_unknown_one(
    client: APIClient, running: Agent, path: str, about: str | None, field: str
) -> None:
    path = path.format(id=running.pk)
    whole, answer = client.get(path).json(), client.get(and_fields(path, field))
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    beside = {key: value for key, value in whole.items() if about and key != about}
    assert shown == (beside | {about: only(whole[about], field)} if about else only(whole, field))
    refused = client.get(and_fields(path, f"{field},colour"))
    message = refused.json()["message"]
    assert (refused.status_code, message.partition("one of ")[0]) == (400, "fields: 'colour' is not ")
    assert field in message.partition("one of ")[2].split(", ")
    assert client.get(and_fields(path, "")).json()["message"] == "fields: came blank; give names of fields"


def test_every_read_of_json_says_that_it_takes_fields() -> None:
    for path, methods in json.loads(openapi().body)["paths"].items():
        got = methods.get("get", {})
        is_json = "application/json" in got.get("responses", {}).get("200", {}).get("content", {})
        takes = "fields" in [parameter["name"] for parameter in got.get("parameters", [])]
        assert takes == is_json, path


def test_a_chosen_answer_has_an_etag_of_its_own(api: APIClient, catalog: None) -> None:
    whole, names = api.get("/personas"), api.get("/personas?fields=name", HTTP_ACCEPT_ENCODING="gzip")
    ids = api.get("/personas?fields=id")
    assert len({answer["ETag"] for answer in (whole, names, ids)}) == 3
    assert "Content-Encoding" not in names
    assert int(names["Content-Length"]) == len(names.content) < len(whole.content) / 10
    again = api.get("/personas?fields=name", HTTP_IF_NONE_MATCH=f'"x", W/{names["ETag"]}')
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", names["ETag"])
    assert api.get("/personas?fields=name", HTTP_IF_NONE_MATCH=whole["ETag"]).status_code == 200
    assert api.get("/personas", HTTP_IF_NONE_MATCH=names["ETag"]).status_code == 200
    assert api.get("/personas", HTTP_IF_NONE_MATCH=whole["ETag"]).status_code == 304


def test_a_list_that_is_too_long_to_be_read_whole_is_asked_for_in_pages(
    api: APIClient, catalog: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_fields, "MAX_BYTES", 1_000)
    answer = api.get("/engines?fields=id")
    assert (answer.status_code, answer.json()["error"]) == (400, "BAD_REQUEST")
    assert answer.json()["message"].startswith("fields: ")
    assert api.get("/engines").status_code == 200
    assert api.get("/personas?fields=id").status_code == 200  # it is never read


def test_the_next_page_has_the_same_fields(api: APIClient, catalog: None) -> None:
    link = api.get("/personas?limit=1&fields=id,name")["Link"]
    following = api.get(link.partition(">")[0].lstrip("<"))
    assert [set(persona) for persona in following.json()["personas"]] == [{"id", "name"}]


def test_a_call_that_is_no_read_of_json_has_no_fields(client: APIClient, running: Agent) -> None:
    assert client.get("/auth/verify?fields=x").status_code == 405
    assert client.get("/agents/agt_0/events?fields=x").status_code == 400
    assert client.get("/agents/agt_0/events?fields=id").status_code == 404
    assert client.head("/me?fields=email").status_code == 200
    assert client.get(f"/agents/{running.pk}/events?fields={'x,' * 2_000}").status_code == 400
