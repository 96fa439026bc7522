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
    """An engine without an image is not offered. If the default engine has none, each new agent must name its
    engine."""
    lacking = [engine_id for engine_id in engines.ENGINES if not can_run(engine_id)]
    if DEFAULT_ENGINE in lacking:
        hint = f"{DEFAULT_ENGINE.value}=<image>: agents are created with it where no engine is named."
        return [Error(f"ENGINE_IMAGES names no image for {DEFAULT_ENGINE.value}", hint=hint, id="agentpods.E004")]
    named = ", ".join(lacking)
    return [Info(f"not offered, because ENGINE_IMAGES names no image: {named}", id="agentpods.I001")] if lacking else []


@register(Tags.compatibility, deploy=True)
def backups_have_a_store(**_: Any) -> list[CheckMessage]:
    """Without a backup, an agent is lost when its disk is lost."""
    if not settings.BACKUP_STORE:
        return [CheckWarning("BACKUP_STORE is not set: no agent is backed up", id="agentpods.W006")]
    found: list[CheckMessage] = []
    if settings.AGENT_RUNTIME == "kubernetes":
        if not settings.BACKUP_URL or not settings.BACKUP_PORT:
            hint = "Pods reach the endpoint there: the chart names both with backups.enabled."
            found.append(Error("BACKUP_URL or BACKUP_PORT is not set: no pod is backed up", hint=hint, id=_NO_WAY))
        if settings.BACKUP_STORE.startswith("/"):
            hint = "Endpoint and workers must see the same files there; a bucket is what is meant for clusters."
            found.append(CheckWarning("BACKUP_STORE is a directory", hint=hint, id="agentpods.W007"))
    return found


_NO_WAY = "agentpods.E005"
