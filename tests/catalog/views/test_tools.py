"""GET /tools"""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

pytestmark = pytest.mark.usefixtures("catalog")

FIELDS = {"id", "name", "description", "defaultEnabled", "group"}
GROUPS = {"web", "files", "media", "voice", "thinking", "integrations", "network"}


def test_a_toolset_has_exactly_the_fields_of_the_spec(api: APIClient) -> None:
    body = api.get("/tools").json()
    assert set(body) == {"tools"}
    plugins = {tool["id"]: tool.pop("plugin") for tool in body["tools"] if "plugin" in tool}
    assert plugins == {"spotify": "spotify", "a2a": "a2a-platform"}
    assert all(set(tool) == FIELDS and tool["group"] in GROUPS for tool in body["tools"])


def test_the_toolsets_that_one_engine_supports(api: APIClient) -> None:
    everything = [tool["id"] for tool in api.get("/tools").json()["tools"]]
    hermes = [tool["id"] for tool in api.get("/tools?engine=hermes").json()["tools"]]
    assert {"file", "terminal", "memory", "cronjob", "a2a"} < set(hermes) < set(everything)
    assert [tool["id"] for tool in api.get("/tools?engine=pi").json()["tools"]] == ["file", "terminal", "skills", "a2a"]
    assert [tool["id"] for tool in api.get("/tools?engine=n8n").json()["tools"]] == ["a2a"]


def test_an_unknown_engine_is_named(api: APIClient) -> None:
    answer = api.get("/tools?engine=")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("engine: '' is not an engine; allowed: pi, ")
