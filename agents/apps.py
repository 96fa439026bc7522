"""The app's configuration: the catalog is told that agents use personas and models."""

from __future__ import annotations

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"

    def ready(self) -> None:
        import catalog.models_in_use  # noqa: PLC0415 # models are there only now
        from agents import models_in_use  # noqa: PLC0415
        from agents.models import Agent  # noqa: PLC0415
        from catalog import usage  # noqa: PLC0415

        usage.register("agents", lambda persona_id: Agent.objects.live().filter(persona_id=persona_id).exists())
        catalog.models_in_use.register("agent", models_in_use.counts)
