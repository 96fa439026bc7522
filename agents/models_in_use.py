"""Which models agents use, including the defaults of agents without a choice. The catalog asks before it hides a
model."""

from __future__ import annotations

from collections import Counter

from django.db.models import Count

from agents.models import Agent
from catalog import llm_models, personas


def counts() -> Counter[str]:
    """The ids of the models in use, with the number of agents for each."""
    alike = Agent.objects.live().order_by().values_list("model", "llm_provider", "persona_id")
    found: Counter[str] = Counter()
    for model, provider, persona_id, count in alike.annotate(count=Count("id")):
        if chosen := model or _default(provider, persona_id):
            found[chosen] += count
    return found


def _default(provider: str | None, persona_id: str) -> str | None:
    """The model of a pod whose owner chose none (agents/running/pods.py); None without a key."""
    if provider is None:
        return None
    try:
        return llm_models.default_model(provider, personas.recommended_models(persona_id))
    except llm_models.NoModel:
        return None
