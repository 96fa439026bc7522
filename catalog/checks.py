"""System checks of what the catalog offers."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Info, Tags, register

from catalog import engine_packages, licences
from config.operator_settings.registry import OperatorSettings
from config.operator_settings.values import values


@register(Tags.compatibility)
def confirmed_engines_are_known(**_: Any) -> list[CheckMessage]:
    """A misspelt engine in the variable ENGINES_CONFIRMED would silently not be offered.

    Every command that migrates or serves checks it. What operators confirm is checked when they save it.
    """
    unknown = licences.unknown(OperatorSettings.ENGINES_CONFIRMED.of_environment())
    if not unknown:
        return []
    hint = f"Only these need a confirmation: {', '.join(sorted(licences.on_confirmation()))}."
    return [Error(f"ENGINES_CONFIRMED names {', '.join(unknown)}", hint=hint, id="agentpods.E006")]


@register(Tags.compatibility)
def engine_packages_are_whole(**_: Any) -> list[CheckMessage]:
    """An engine package that cannot be loaded does not disable the other engines, but it stops the start."""
    return [
        Error(f"the engine package {engine_id} cannot be used: {why}", id="agentpods.E007")
        for engine_id, why in engine_packages.found().broken.items()
    ]


@register(Tags.compatibility, deploy=True)
def engines_wait_for_a_confirmation(**_: Any) -> list[CheckMessage]:
    """Tell the operator why an engine is not offered."""
    with values.unread():
        waiting = [engine_id for engine_id in sorted(licences.on_confirmation()) if not licences.is_cleared(engine_id)]
        return [
            Info(f"not offered: {engine_id}", hint=licences.in_words(engine_id), id="agentpods.I002")
            for engine_id in waiting
        ]
