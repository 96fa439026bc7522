"""Every number that the API takes: odd forms are refused by the field's name, wherever they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from agents.models import Agent

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

ODD_TEXTS = ["5_0", "+5", " 5", "5 ", "5.0", "5e0", "٥", "５", "NaN", "Infinity", "0x5", "-5", "5" * 5_000]
ODD_VALUES = ['""', '" "', '"5"', '"5_0"', '"1e3"', "true", "[5]", "{}", '"NaN"', "-5", "0.001"]
# The parser refuses these, and knows no field.
NOT_JSON = ["1e999", "5" * 5_000, "NaN", "Infinity", "-Infinity", "5_0", "+5", "05", "٥"]


def numbers_in_queries(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Paths with the names of parameters that are numbers."""
    for path, methods in document["paths"].items():
        for parameter in methods.get("get", {}).get("parameters", []):
            told = parameter["schema"]
            kinds = {one.get("type") for one in [told, *told.get("oneOf", [])]}
            if parameter["in"] == "query" and kinds & {"integer", "number"}:
                yield path, parameter["name"]


def test_a_number_in_a_query_is_plain_digits(client: APIClient, document: dict[str, Any], running: Agent) -> None:
    client.put(f"/agents/{running.pk}/webhook", {"url": "https://203.0.114.7/events"}, format="json")
    found = list(numbers_in_queries(document))
    assert len(found) >= 13
    for path, name in found:
        at = path.replace("{id}", running.pk)
        assert client.get(f"{at}?{name}=5").status_code != 400, path
        for text in ODD_TEXTS:
            answer = client.get(f"{at}?{name}={quote(text)}")
            assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, name), (path, text)


BODIES: list[tuple[str, str, dict[str, Any], str]] = [
    ("PUT", "/agents/{id}/limits", {}, "usdPerDay"),
    ("PUT", "/agents/{id}/limits", {}, "usdPerMonth"),
    ("PUT", "/agents/{id}/limits", {}, "tokensPerTurn"),
    ("PUT", "/agents/{id}/limits", {}, "requestsPerMinute"),
    ("PUT", "/me/limits", {}, "usdPerDay"),
    ("PUT", "/me/limits", {}, "usdPerMonth"),
    ("POST", "/keys", {"name": "one"}, "spendLimitUsd"),
    ("POST", "/keys", {"name": "one"}, "usdPerDay"),
    ("POST", "/keys", {"name": "one"}, "usdPerMonth"),
    ("PUT", "/keys/{id}/limits", {}, "usdPerDay"),
    ("PUT", "/keys/{id}/limits", {}, "usdPerMonth"),
    ("POST", "/agents/{id}/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}, "n"),
]
FROM_OTHERS = {"StripeEventRequest", "TelegramUpdateRequest"}  # webhooks of payment providers, who sign them


def test_every_number_in_a_body_is_in_the_list_above(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    sent = {name for name in schemas if name.endswith("Request") and name not in FROM_OTHERS}
    found = []
    for name in sent:
        for field, told in schemas[name].get("properties", {}).items():
            kind = told.get("type")
            if {"integer", "number"} & set(kind if isinstance(kind, list) else [kind]):
                found.append(field)
    assert sorted(found) == sorted(field for *_, field in BODIES)


@pytest.mark.parametrize(("method", "path", "body", "name"), BODIES)
def test_a_number_in_a_body_is_a_json_number(
    client: APIClient, running: Agent, method: str, path: str, body: dict[str, Any], name: str
) -> None:
    def refusal(raw: str) -> tuple[int, str]:
        sent = f'{json.dumps(body)[:-1]}{", " if body else ""}"{name}": {raw}}}'
        answer = client.generic(method, path.replace("{id}", running.pk), sent, "application/json")
        return answer.status_code, answer.json().get("message", "")

    for raw in ODD_VALUES:
        status, message = refusal(raw)
        assert (status, message.partition(":")[0]) == (400, name), (raw, message)
    for raw in NOT_JSON:
        assert refusal(raw)[0] == 400, raw
