"""What checks find about the catalog's offers."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register

from catalog import licences


@register(Tags.compatibility)
def confirmed_engines_are_known(**_: Any) -> list[CheckMessage]:
    """A misspelt name would leave an engine out without a word. Every command that migrates or serves asks this."""
    unknown = sorted(set(settings.ENGINES_CONFIRMED) - set(licences.ON_CONFIRMATION))
    if not unknown:
        return []
    hint = f"Only these need a confirmation: {', '.join(sorted(licences.ON_CONFIRMATION))}."
    return [Error(f"ENGINES_CONFIRMED names {', '.join(unknown)}", hint=hint, id="agentpods.E006")]


@register(Tags.compatibility, deploy=True)
def engines_wait_for_a_confirmation(**_: Any) -> list[CheckMessage]:
    """An operator who misses an engine learns here why."""
    waiting = [engine_id for engine_id in sorted(licences.ON_CONFIRMATION) if not licences.is_cleared(engine_id)]
    return [
        Info(f"not offered: {engine_id}", hint=licences.in_words(engine_id), id="agentpods.I002")
        for engine_id in waiting
    ]
