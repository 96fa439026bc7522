from __future__ import annotations

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "catalog"
    default = True

    def ready(self) -> None:
        from catalog import checks  # noqa: F401, PLC0415 # checks register themselves
