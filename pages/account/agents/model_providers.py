"""Where people find their keys of model providers."""

from __future__ import annotations

from catalog import llm_providers
from catalog.models import Engine

_KEYS_AT = {
    "openai": "https://platform.openai.com/api-keys",
    "anthropic": "https://console.anthropic.com/settings/keys",
    "openrouter": "https://openrouter.ai/settings/keys",
    "google": "https://aistudio.google.com/apikey",
    "gemini": "https://aistudio.google.com/apikey",
    "groq": "https://console.groq.com/keys",
    "mistral": "https://console.mistral.ai/api-keys",
    "deepseek": "https://platform.deepseek.com/api_keys",
    "xai": "https://console.x.ai",
    "nous": "https://portal.nousresearch.com/api-keys",
}


def keys_at(engine: Engine) -> list[tuple[str, str]]:
    """The name of each provider that the engine supports, and the URL of its page with API keys."""
    return [(one.label, _KEYS_AT[one.pk]) for one in llm_providers.offered(engine) if one.pk in _KEYS_AT]
