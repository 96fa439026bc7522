"""What the admin shows of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.operator_settings.choosing import SET
from config.operator_settings.models import chosen_texts
from config.operator_settings.registry import GROUPS, SETTINGS
from config.operator_settings.setting import Setting, as_text

OPERATOR, ENVIRONMENT, DEFAULT = "operator", "environment", "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingLine:
    """A setting as it is in the database now. `otherwise` is its value if no operator chose one.

    Of a credential, both only say that it is set.
    """

    setting: Setting[Any]
    text: str
    source: str
    otherwise: str
    problem: str = ""  # why the operator's value cannot be used


def groups() -> dict[str, list[SettingLine]]:
    """All settings by group, read with one statement."""
    rows = chosen_texts()
    lines = [_line(setting, rows) for setting in SETTINGS.values()]
    return {group: [line for line in lines if line.setting.group == group] for group in GROUPS}


def line_of(name: str) -> SettingLine:
    return _line(SETTINGS[name], chosen_texts(name))


def _line(setting: Setting[Any], rows: Mapping[str, str | None]) -> SettingLine:
    otherwise = _told(setting, as_text(setting.of_environment()))
    source = ENVIRONMENT if env.text(setting.name) or env.text(f"{setting.name}_FILE") else DEFAULT
    if setting.name not in rows:
        return SettingLine(setting=setting, text=otherwise, source=source, otherwise=otherwise)
    chosen = rows[setting.name]
    try:
        setting.read(chosen)
    except ImproperlyConfigured as problem:
        return SettingLine(setting=setting, text=otherwise, source=source, otherwise=otherwise, problem=str(problem))
    return SettingLine(setting=setting, text=_told(setting, chosen or ""), source=OPERATOR, otherwise=otherwise)


def _told(setting: Setting[Any], text: str) -> str:
    return SET if setting.is_credential and text else text
