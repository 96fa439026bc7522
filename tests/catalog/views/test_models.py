"""The endpoint GET /models."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from catalog import snapshot
from catalog.models import Engine, LlmModel, LlmProvider
from catalog.vocabulary import ProviderId

pytestmark = pytest.mark.usefixtures("catalog")


def test_a_model_has_exactly_the_fields_of_the_spec(api: APIClient) -> None:
    body = api.get("/models").json()
    assert set(body) == {"models"}
    assert len(body["models"]) >= 25
    for model in body["models"]:
        assert set(model) == {"id", "provider", "name", "label", "costTier"}
        assert model["id"] == f"{model['provider']}:{model['name']}"
        assert model["costTier"] in {"cheap", "mid", "premium"}


def test_the_name_is_what_follows_the_first_colon(api: APIClient) -> None:
    LlmModel(
        id="openrouter:a/b:free",
        label="B",
        input_usd=0,
        output_usd=0,
        provider="openrouter",
        source="x",
        checked_at="2026-11-01",
    ).save()
    model = next(model for model in api.get("/models").json()["models"] if model["id"] == "openrouter:a/b:free")
    assert model == {
        "id": "openrouter:a/b:free",
        "provider": "openrouter",
        "name": "a/b:free",
        "label": "B",
        "costTier": "cheap",
    }


@pytest.mark.parametrize("provider", [provider for provider in ProviderId.values if provider != "nous"])
def test_the_models_of_one_provider(api: APIClient, provider: str) -> None:
    models = api.get("/models", {"provider": provider}).json()["models"]
    assert {model["provider"] for model in models} == {provider}


@pytest.mark.parametrize("value", ["acme", "", "OpenAI", "openai\0", "' or 1=1"])
def test_an_unknown_provider_is_named(api: APIClient, value: str) -> None:
    answer = api.get("/models", {"provider": value})
    assert answer.status_code == 400
    assert answer.json()["error"] == "BAD_REQUEST"
    assert answer.json()["message"].startswith(
        f"provider: {value!r} is not an LLM provider; allowed: openai, anthropic, "
    )


def test_a_filter_given_twice_is_refused(api: APIClient) -> None:
    answer = api.get("/models?provider=openai&provider=xai")
    assert (answer.status_code, answer.json()["message"]) == (400, "provider: is given 2 times, once is allowed")


def test_a_hidden_provider_takes_its_models_with_it(api: APIClient) -> None:
    LlmProvider.objects.filter(id="xai").update(hidden=True)
    snapshot.forget()
    assert "xai" not in {model["provider"] for model in api.get("/models").json()["models"]}
    assert api.get("/models?provider=xai").status_code == 400


def test_a_model_that_no_engine_can_use_is_not_offered(api: APIClient) -> None:
    assert "nous" not in {model["provider"] for model in api.get("/models").json()["models"]}
    assert api.get("/models?provider=nous").status_code == 400
    Engine.objects.filter(id="hermes").update(llm_providers=["nous"])
    snapshot.forget()
    assert "nous" in {model["provider"] for model in api.get("/models").json()["models"]}
