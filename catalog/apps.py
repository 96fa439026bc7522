from __future__ import annotations

from django.apps import AppConfig

from config.operator_settings.registry import OperatorSettings


class CatalogConfig(AppConfig):
    name = "catalog"
    default = True

    def ready(self) -> None:
        from catalog import checks, licences  # noqa: F401, PLC0415 # checks register themselves

        OperatorSettings.ENGINES_CONFIRMED.checks.append(licences.refuse_unknown)
