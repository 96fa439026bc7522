"""GET /engines"""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from agents.engines import ENGINES

pytestmark = pytest.mark.usefixtures("catalog")

CAPABILITIES = {"skills", "mcp", "skillRegistry", "skillUninstall", "llmKey", "model", "sso", "dashCredentials"}


def test_an_engine_has_exactly_the_fields_of_the_spec(api: APIClient) -> None:
    body = api.get("/engines").json()
    assert set(body) == {"engines"}
    for engine in body["engines"]:
        assert set(engine) == {"id", "label", "description", "requiresDomain", "minTier", "status", "capabilities"}
        assert set(engine["capabilities"]) - {"llmProviders"} == CAPABILITIES
        assert all(isinstance(engine["capabilities"][name], bool) for name in CAPABILITIES)


def test_only_engines_with_an_adapter_are_stable(api: APIClient) -> None:
    engines = {engine["id"]: engine for engine in api.get("/engines").json()["engines"]}
    stable = {name for name, engine in engines.items() if engine["status"] == "stable"}
    assert {"pi", "hermes"} <= stable <= set(ENGINES)
    assert engines["pi"] == {
        "id": "pi",
        "label": "Pi",
        "description": "A small, quick agent for conversations and work on files; it fits the smallest plan.",
        "requiresDomain": False,
        "minTier": "tiny",
        "status": "stable",
        "capabilities": {
            "skills": True,
            "mcp": True,
            "skillRegistry": False,
            "skillUninstall": True,
            "llmKey": True,
            "model": True,
            "sso": False,
            "dashCredentials": False,
            "llmProviders": [
                "openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai",
            ],
        },
    }  # fmt: skip


def test_the_providers_are_left_out_where_every_one_is_accepted(api: APIClient) -> None:
    from catalog.models import Engine

    Engine.objects.filter(id="hermes").update(llm_providers=None)
    engines = {engine["id"]: engine for engine in api.get("/engines").json()["engines"]}
    assert "llmProviders" not in engines["hermes"]["capabilities"]
    assert engines["n8n"]["capabilities"]["llmProviders"] == []
