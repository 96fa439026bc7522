"""Engines whose licence does not let everybody host them for others, and which of them the operator has confirmed.

Development is for one's own use, so all engines are offered there. Production offers an engine of this table only if
`ENGINES_CONFIRMED` names it (docs/reference/engines.md: Licences).
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from catalog import engine_packages
from catalog.vocabulary import EngineId
from config.operator_settings import operator_settings

# What the operator confirms, in the words of the licence.
_OURS: dict[str, str] = {
    EngineId.N8N: "Sustainable Use License: to host n8n and charge for access to it, n8n GmbH must agree",
    EngineId.CLAUDE_CODE: "Anthropic's Commercial Terms: each owner brings an API key of their own, no claude.ai login",
}


def on_confirmation() -> dict[str, str]:
    """Engine ids, each with what the operator must confirm. Packages of third parties add their own."""
    theirs = {engine_id: terms for engine_id, terms in engine_packages.found().licences.items() if terms}
    return {**_OURS, **theirs}


def is_cleared(engine_id: str) -> bool:
    """Whether the licence lets this installation offer the engine."""
    return (
        settings.DEVELOPMENT or engine_id not in on_confirmation() or engine_id in operator_settings.ENGINES_CONFIRMED
    )


def unknown(engine_ids: Iterable[str]) -> list[str]:
    """Those of the ids that ENGINES_CONFIRMED does not need or does not know, sorted."""
    return sorted(set(engine_ids) - set(on_confirmation()))


def refuse_unknown(engine_ids: Iterable[str]) -> None:
    """Check what an operator confirms. Raises ImproperlyConfigured."""
    if named := unknown(engine_ids):
        allowed = ", ".join(sorted(on_confirmation()))
        raise ImproperlyConfigured(f"ENGINES_CONFIRMED names {', '.join(named)}; only these need it: {allowed}")


def in_words(engine_id: str) -> str:
    """For operators: what the licence demands, and whether it is confirmed. Empty if everybody may host the engine."""
    terms = on_confirmation().get(engine_id)
    if terms is None:
        return ""
    if engine_id in operator_settings.ENGINES_CONFIRMED:
        return f"{terms}. Confirmed by ENGINES_CONFIRMED."
    if settings.DEVELOPMENT:
        return f"{terms}. Offered here because this is development."
    return f"{terms}. Not offered until ENGINES_CONFIRMED names it."
