"""The app's configuration.

Where stablecoins or Stripe are set up, their libraries are imported before threads start.
"""

from __future__ import annotations

from django.apps import AppConfig
from django.utils import timezone

from config import preload


class BillingConfig(AppConfig):
    name = "billing"

    def ready(self) -> None:
        from agents.admin_steps import DeleteAgents  # noqa: PLC0415
        from billing import checks, parking  # noqa: F401, PLC0415 # checks register themselves
        from billing.providers.crypto import configuration  # noqa: PLC0415 # the models are loaded only now
        from billing.providers.stripe import configuration as cards  # noqa: PLC0415

        DeleteAgents.losses.append(lambda rows: parking.unused(rows, now=timezone.now()))
        preload.before_threads(configuration.load)
        preload.before_threads(cards.load)
