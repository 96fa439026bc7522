"""Refuses to start a production that is not one, in whatever process it is tried."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        # Both need settings. The first makes our Celery app the current one everywhere, the second registers itself.
        from config import celery, checks  # noqa: F401, PLC0415

        if problems := checks.refusals():
            raise ImproperlyConfigured("AGENTPODS_ENV=production refuses to start:\n  " + "\n  ".join(problems))
