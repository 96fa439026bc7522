"""The endpoint GET /engines."""

from __future__ import annotations

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from catalog import snapshot
from catalog.models import Engine

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
    assert list(engines) == ["pi", "hermes", "opencode", "claude-code", "openclaw", "n8n"]
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
    Engine.objects.filter(id="hermes").update(llm_providers=None)
    snapshot.forget()
    engines = {engine["id"]: engine for engine in api.get("/engines").json()["engines"]}
    assert "llmProviders" not in engines["hermes"]["capabilities"]


def test_in_clusters_an_engine_without_an_image_is_not_offered(api: APIClient, settings: Settings) -> None:
    """Providers and toolsets that only such an engine could use are not offered either."""
    Engine.objects.filter(id="hermes").update(llm_providers=["nous"])
    snapshot.forget()
    assert "nous" in {one["id"] for one in api.get("/llm-providers").json()["llmProviders"]}
    settings.AGENT_RUNTIME, settings.ENGINE_IMAGES = "kubernetes", {"pi": "registry.example/pi:1"}
    Engine.objects.get(id="pi").save()  # so that the cached answer is not used
    snapshot.forget()
    assert [engine["id"] for engine in api.get("/engines").json()["engines"]] == ["pi"]
    assert "nous" not in {one["id"] for one in api.get("/llm-providers").json()["llmProviders"]}
    assert {engine for tool in api.get("/tools").json()["tools"] for engine in tool["engines"]} == {"pi"}
    refused = api.get("/tools?engine=hermes")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("engine: 'hermes' is not an engine; allowed: pi")
