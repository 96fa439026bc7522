"""Stops the start of any process whose production settings are not safe."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.exceptions import ImproperlyConfigured


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        # Both need settings. The first import makes our Celery app the current app, the second registers the checks.
        from config import celery, checks  # noqa: F401, PLC0415

        if problems := checks.refusals():
            raise ImproperlyConfigured("AGENTPODS_ENV=production refuses to start:\n  " + "\n  ".join(problems))
