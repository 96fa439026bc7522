"""What the admin shows of each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.operator_settings.models import OperatorSetting
from config.operator_settings.registry import GROUPS, SETTINGS
from config.operator_settings.setting import Setting, as_text

OPERATOR, ENVIRONMENT, DEFAULT = "operator", "environment", "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingLine:
    """A setting as it is in the database now. `otherwise` is its value if no operator chose one."""

    setting: Setting[Any]
    text: str
    source: str
    otherwise: str
    problem: str = ""  # why the operator's value cannot be used


def groups() -> dict[str, list[SettingLine]]:
    """All settings by group, read with one statement."""
    rows = dict(OperatorSetting.objects.values_list("name", "value"))
    lines = [_line(setting, rows) for setting in SETTINGS.values()]
    return {group: [line for line in lines if line.setting.group == group] for group in GROUPS}


def line_of(name: str) -> SettingLine:
    return _line(SETTINGS[name], dict(OperatorSetting.objects.filter(pk=name).values_list("name", "value")))


def _line(setting: Setting[Any], rows: Mapping[str, str]) -> SettingLine:
    otherwise = as_text(setting.of_environment())
    source = ENVIRONMENT if env.text(setting.name) else DEFAULT
    chosen = rows.get(setting.name)
    if chosen is None:
        return SettingLine(setting=setting, text=otherwise, source=source, otherwise=otherwise)
    try:
        setting.read(chosen)
    except ImproperlyConfigured as problem:
        return SettingLine(setting=setting, text=otherwise, source=source, otherwise=otherwise, problem=str(problem))
    return SettingLine(setting=setting, text=chosen, source=OPERATOR, otherwise=otherwise)
