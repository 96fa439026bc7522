"""The app's configuration. It tells the catalog which personas and models agents use, and loads the runtime early."""

from __future__ import annotations

from django.apps import AppConfig

from config import preload


class AgentsConfig(AppConfig):
    name = "agents"

    def ready(self) -> None:
        import catalog.models_in_use  # noqa: PLC0415 # models cannot be imported earlier
        from agents import checks, models_in_use, runtimes  # noqa: F401, PLC0415 # checks register themselves
        from agents.models import Agent  # noqa: PLC0415
        from catalog import usage  # noqa: PLC0415

        usage.register("agents", lambda persona_id: Agent.objects.live().filter(persona_id=persona_id).exists())
        preload.before_threads(runtimes.current_runtime)
        catalog.models_in_use.register("agent", models_in_use.counts)
