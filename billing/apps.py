"""The app's configuration.

The libraries of payment providers that are set up are imported before threads start.
"""

from __future__ import annotations

from django.apps import AppConfig
from django.utils import timezone

from config import preload


class BillingConfig(AppConfig):
    name = "billing"

    def ready(self) -> None:
        from agents.admin.steps import DeleteAgents  # noqa: PLC0415
        from billing import parking  # noqa: PLC0415 # the models are loaded only now
        from billing.providers import registry  # noqa: PLC0415

        DeleteAgents.losses.append(lambda rows: parking.unused(rows, now=timezone.now()))
        registry.parts("checks")  # they register themselves
        for part in registry.parts("configuration"):
            preload.before_threads(part.load)
