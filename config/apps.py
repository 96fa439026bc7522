"""Refuses to start a production that is not one, in whatever process it is tried."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: PLC0415 # registers them; needs settings

        if problems := checks.refusals():
            raise ImproperlyConfigured("AGENTPODS_ENV=production refuses to start:\n  " + "\n  ".join(problems))
