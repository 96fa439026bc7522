"""Models, and the default model when nobody chose one."""

from __future__ import annotations

import pytest

from catalog import llm_models, snapshot
from catalog.models import LlmModel, LlmProvider
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def test_an_offered_model_is_known() -> None:
    model = llm_models.known_model("groq:openai/gpt-oss-20b")
    assert (model.provider, model.name, model.cost_tier) == ("groq", "openai/gpt-oss-20b", "cheap")


@pytest.mark.parametrize("model", ["", ":", "groq", "groq:", "openai:grok-4.7", "grok-4.7", "openai:gpt-6-luna "])
def test_an_unknown_model_names_the_field(model: str) -> None:
    with pytest.raises(BadRequest, match=r"^model: .* is not in the catalog; GET /models lists the ids"):
        llm_models.known_model(model)


def test_a_hidden_model_and_one_of_a_hidden_provider_are_refused() -> None:
    LlmModel.objects.filter(id="xai:grok-4.3").update(hidden=True)
    LlmProvider.objects.filter(id="groq").update(hidden=True)
    snapshot.forget()
    for model in ("xai:grok-4.3", "groq:openai/gpt-oss-120b", "nous:Hermes-4-70B"):
        with pytest.raises(BadRequest):
            llm_models.known_model(model)


def test_the_first_recommended_model_of_the_provider_is_the_default() -> None:
    recommended = ["openai:gpt-6-luna", "xai:grok-9", "xai:grok-4.3", "xai:grok-4.7"]
    assert llm_models.default_model("xai", recommended) == "xai:grok-4.3"


def test_without_a_recommendation_the_first_mid_model_is_the_default() -> None:
    assert llm_models.default_model("openai", ["xai:grok-4.3"]) == "openai:gpt-6.2-sol"
    assert llm_models.default_model("deepseek", []) == "deepseek:deepseek-v4-pro"


def test_without_a_mid_model_the_first_one_is_the_default() -> None:
    LlmModel.objects.filter(id="nous:z-ai/glm-5.2").update(hidden=True)
    snapshot.forget()
    assert llm_models.default_model("nous", []) == "nous:Hermes-4-405B"


def test_google_and_gemini_share_their_recommendations() -> None:
    assert llm_models.default_model("google", ["gemini:gemini-3.5-flash-lite"]) == "google:gemini-3.5-flash-lite"
    assert llm_models.default_model("gemini", ["google:gemini-3.1-pro-preview"]) == "gemini:gemini-3.1-pro-preview"


def test_a_provider_whose_models_are_all_hidden_still_has_a_default() -> None:
    LlmModel.objects.filter(provider="xai").update(hidden=True)
    snapshot.forget()
    assert llm_models.default_model("xai", []) == "xai:grok-4.7"


def test_a_provider_without_models_has_none() -> None:
    LlmModel.objects.filter(provider="xai").delete()
    snapshot.forget()
    with pytest.raises(BadRequest, match=r"^llmProvider: the catalog has no model of xai"):
        llm_models.default_model("xai", [])
