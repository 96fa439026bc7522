"""What `check --deploy` finds about agents."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.checks import Warning as CheckWarning

from agents import engines
from catalog.engines import can_run
from catalog.vocabulary import DEFAULT_ENGINE


@register(Tags.compatibility, deploy=True)
def engines_have_images(**_: Any) -> list[CheckMessage]:
    """An engine without an image is not offered; without the default one, an agent must name its engine."""
    lacking = [engine_id for engine_id in engines.ENGINES if not can_run(engine_id)]
    if DEFAULT_ENGINE in lacking:
        hint = f"{DEFAULT_ENGINE.value}=<image>: agents are created with it where no engine is named."
        return [Error(f"ENGINE_IMAGES names no image for {DEFAULT_ENGINE.value}", hint=hint, id="agentpods.E004")]
    named = ", ".join(lacking)
    return [Info(f"not offered, for ENGINE_IMAGES names no image: {named}", id="agentpods.I001")] if lacking else []


@register(Tags.compatibility, deploy=True)
def backups_have_a_store(**_: Any) -> list[CheckMessage]:
    """An agent whose disk is lost is then lost with it."""
    if settings.AGENT_RUNTIME == "kubernetes":
        return [Info("agents in clusters are not backed up: their pods have no restic yet", id="agentpods.I002")]
    if settings.BACKUP_STORE:
        return []
    return [CheckWarning("BACKUP_STORE is not set: no agent is backed up", id="agentpods.W006")]
