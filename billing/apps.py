"""The app's configuration: where stablecoins are taken, their libraries are imported before threads start."""

from __future__ import annotations

from django.apps import AppConfig

from config import preload


class BillingConfig(AppConfig):
    name = "billing"

    def ready(self) -> None:
        from billing.crypto import configuration  # noqa: PLC0415 # models are there only now

        preload.before_threads(configuration.load)
