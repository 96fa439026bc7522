"""Engines that not everybody may host for others: what their licences say, and which ones the operator has cleared.

In development, which is one's own use, all engines are offered. In production an engine of this table is offered once
`ENGINES_CONFIRMED` names it (docs/reference/engines.md: Licences).
"""

from __future__ import annotations

from django.conf import settings

from catalog import engine_packages
from catalog.vocabulary import EngineId

# What the operator confirms, in the words of the licence.
_OURS: dict[str, str] = {
    EngineId.N8N: "Sustainable Use License: to host n8n and charge for access to it, n8n GmbH must agree",
    EngineId.CLAUDE_CODE: "Anthropic's Commercial Terms: each owner brings an API key of their own, no claude.ai login",
}


def on_confirmation() -> dict[str, str]:
    """Engine ids and what to confirm; packages of third parties bring their own."""
    theirs = {engine_id: terms for engine_id, terms in engine_packages.found().licences.items() if terms}
    return {**_OURS, **theirs}


def is_cleared(engine_id: str) -> bool:
    """Whether its licence lets this installation offer the engine."""
    return settings.DEVELOPMENT or engine_id not in on_confirmation() or engine_id in settings.ENGINES_CONFIRMED


def in_words(engine_id: str) -> str:
    """For operators: what the licence asks, and whether it is confirmed. Empty for engines that anybody may host."""
    terms = on_confirmation().get(engine_id)
    if terms is None:
        return ""
    if engine_id in settings.ENGINES_CONFIRMED:
        return f"{terms}. Confirmed by ENGINES_CONFIRMED."
    if settings.DEVELOPMENT:
        return f"{terms}. Offered here because this is development."
    return f"{terms}. Not offered until ENGINES_CONFIRMED names it."
