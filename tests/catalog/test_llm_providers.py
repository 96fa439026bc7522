"""LLM providers in the catalog."""

from __future__ import annotations

import pytest

from catalog import engines, llm_providers, snapshot
from catalog.models import Engine, LlmProvider
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def test_an_offered_provider_is_known() -> None:
    assert llm_providers.known_provider("xai").env_var == "XAI_API_KEY"


def test_an_unknown_or_hidden_provider_names_the_field() -> None:
    LlmProvider.objects.filter(id="xai").update(hidden=True)
    snapshot.forget()
    for provider in ("acme", "xai", "nous"):
        with pytest.raises(BadRequest, match=f"^provider: '{provider}' is not an LLM provider; allowed: openai, "):
            llm_providers.known_provider(provider, field="provider")


def test_an_engine_takes_only_its_own_providers() -> None:
    openai = llm_providers.known_provider("openai")
    llm_providers.check_engine(openai, engine=engines.known_engine("pi"))
    with pytest.raises(BadRequest, match=r"^provider: Claude Code cannot use openai; allowed: anthropic$"):
        llm_providers.check_engine(openai, engine=engines.engine_of("claude-code"), field="provider")
    Engine.objects.filter(id="n8n").update(llm_key=False)
    snapshot.forget()
    with pytest.raises(BadRequest, match=r"^llmProvider: n8n cannot use openai; allowed: none, it takes no model key$"):
        llm_providers.check_engine(openai, engine=engines.engine_of("n8n"))
