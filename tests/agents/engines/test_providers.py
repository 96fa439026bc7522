from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.engines.providers import PROVIDERS, BadPathError, KeyHeader, base_url_of, is_own_server, upstream_url
from catalog.vocabulary import ProviderId


@pytest.mark.parametrize(
    ("provider", "base", "path", "url"),
    [
        # Engines append different paths to a base. The result is always the vendor's own path.
        ("openai", "https://api.openai.com/v1", "/v1/responses", "https://api.openai.com/v1/responses"),
        ("openai", "http://127.0.0.1:9/v1", "/chat/completions", "http://127.0.0.1:9/v1/chat/completions"),
        ("openai", "http://127.0.0.1:9/v1/", "/v1/responses", "http://127.0.0.1:9/v1/responses"),
        ("anthropic", "https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com", "/messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "http://127.0.0.1:9/v1", "/v1/messages", "http://127.0.0.1:9/v1/messages"),
        ("anthropic", "http://127.0.0.1:9/proxy", "/v1/messages", "http://127.0.0.1:9/proxy/v1/messages"),
        (
            "google",
            "https://generativelanguage.googleapis.com/v1beta",
            "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:streamGenerateContent",
        ),
        ("gemini", "http://127.0.0.1:9", "/models/m:generateContent", "http://127.0.0.1:9/v1beta/models/m:generateContent"),
        ("groq", "https://api.groq.com/openai/v1", "/openai/v1/chat/completions", "https://api.groq.com/openai/v1/chat/completions"),
        ("groq", "https://api.groq.com", "/chat/completions", "https://api.groq.com/openai/v1/chat/completions"),
        ("mistral", "https://api.mistral.ai", "/v1/chat/completions", "https://api.mistral.ai/v1/chat/completions"),
        ("deepseek", "https://api.deepseek.com", "/v1/chat/completions", "https://api.deepseek.com/chat/completions"),
        ("openrouter", "https://openrouter.ai/api/v1", "/api/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("xai", "https://api.x.ai/v1", "/v1/responses", "https://api.x.ai/v1/responses"),
        ("nous", "https://inference-api.nousresearch.com/v1", "/v1/chat/completions", "https://inference-api.nousresearch.com/v1/chat/completions"),
    ],
)  # fmt: skip
def test_a_request_arrives_where_the_vendor_has_it(provider: str, base: str, path: str, url: str) -> None:
    assert upstream_url(provider, base, path) == url


@pytest.mark.parametrize(
    "path",
    ["", "responses", "/..", "/v1/../admin", "/v1/./x", "//evil.example/x", "/v1//x", "/a/%2e%2e/b", "/a%2fb", "/a\\b",
     "/a b", "/a?b", "/a#b", "/a\nb", "/ü", "/v1/models/x/.."],
)  # fmt: skip
def test_a_path_that_could_leave_the_base_is_refused(path: str) -> None:
    with pytest.raises(BadPathError):
        upstream_url("openai", "http://127.0.0.1:9/v1", path)


@given(st.sampled_from(sorted(PROVIDERS)), st.text())
def test_whatever_an_engine_asks_for_stays_below_the_base(provider: str, path: str) -> None:
    base = PROVIDERS[provider].base_url
    try:
        url = upstream_url(provider, base, path)
    except BadPathError:
        return
    assert url.startswith(f"{base}/")
    assert ".." not in url.split("/")


def test_every_provider_of_the_catalog_is_known_here() -> None:
    assert set(PROVIDERS) == {provider.value for provider in ProviderId}


def test_the_operators_base_wins_over_the_vendors() -> None:
    assert base_url_of("openai", {"openai": "http://127.0.0.1:9/v1"}) == "http://127.0.0.1:9/v1"
    assert base_url_of("openai", {"xai": "http://127.0.0.1:9/v1"}) == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("overrides", "own"),
    [
        ({}, False),
        ({"xai": "http://10.0.0.5/v1"}, False),
        ({"openai": "https://api.openai.com/v1/"}, False),
        ({"openai": "http://10.0.0.5:8000/v1"}, True),
    ],
)
def test_a_server_of_the_operators_is_told_from_the_vendors(overrides: dict[str, str], own: bool) -> None:
    assert is_own_server("openai", overrides) is own


def test_google_and_gemini_stand_in_for_each_other() -> None:
    assert base_url_of("gemini", {"google": "http://127.0.0.1:9"}) == "http://127.0.0.1:9"
    assert base_url_of("google", {"google": "http://a", "gemini": "http://b"}) == "http://a"


@pytest.mark.parametrize(
    ("provider", "header"),
    [
        ("openai", KeyHeader.BEARER),
        ("anthropic", KeyHeader.ANTHROPIC),
        ("google", KeyHeader.GOOGLE),
        ("gemini", KeyHeader.GOOGLE),
    ],
)
def test_each_provider_takes_its_key_in_its_own_header(provider: str, header: KeyHeader) -> None:
    headers = PROVIDERS[provider].key_headers("k")
    assert headers[header] in {"k", "Bearer k"}
    assert ("anthropic-version" in headers) == (provider == "anthropic")
