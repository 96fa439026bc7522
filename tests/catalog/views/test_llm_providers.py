"""The endpoint GET /llm-providers."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

pytestmark = pytest.mark.usefixtures("catalog")

ALL_BUT_NOUS = ["openai", "anthropic", "openrouter", "google", "gemini", "groq", "mistral", "deepseek", "xai"]


def ids(api: APIClient, path: str) -> list[str]:
    return [provider["id"] for provider in api.get(path).json()["llmProviders"]]


def test_the_nine_providers_that_an_engine_takes_are_told_exactly(api: APIClient) -> None:
    body = api.get("/llm-providers").json()
    assert set(body) == {"llmProviders"}
    assert [tuple(provider.values()) for provider in body["llmProviders"]] == [
        ("openai", "OpenAI", "OPENAI_API_KEY"),
        ("anthropic", "Anthropic", "ANTHROPIC_API_KEY"),
        ("openrouter", "OpenRouter", "OPENROUTER_API_KEY"),
        ("google", "Google AI", "GOOGLE_API_KEY"),
        ("gemini", "Google Gemini", "GEMINI_API_KEY"),
        ("groq", "Groq", "GROQ_API_KEY"),
        ("mistral", "Mistral AI", "MISTRAL_API_KEY"),
        ("deepseek", "DeepSeek", "DEEPSEEK_API_KEY"),
        ("xai", "xAI", "XAI_API_KEY"),
    ]
    assert all(list(provider) == ["id", "label", "envVar"] for provider in body["llmProviders"])


@pytest.mark.parametrize(("engine", "expected"), [("pi", ALL_BUT_NOUS), ("hermes", ALL_BUT_NOUS)])
def test_the_providers_that_one_engine_accepts(api: APIClient, engine: str, expected: list[str]) -> None:
    assert ids(api, f"/llm-providers?engine={engine}") == expected


def test_an_unknown_engine_is_named(api: APIClient) -> None:
    answer = api.get("/llm-providers?engine=gpt")
    assert answer.status_code == 400
    assert answer.json()["message"] == (
        "engine: 'gpt' is not an engine; allowed: pi, hermes, opencode, claude-code, openclaw, n8n;"
        " GET /engines tells more"
    )
