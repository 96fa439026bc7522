"""Operators choose the value of a setting, or let the environment's value hold again. Each change is recorded."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from config import sql
from config.errors import BadRequest, Conflict
from config.operator_settings.models import OperatorSetting, SettingChange
from config.operator_settings.registry import SETTINGS
from config.operator_settings.values import values

LOCK = 0x73657474  # "sett" as ASCII: the advisory lock of all changes


class WrongValue(BadRequest):
    def __init__(self, problem: ImproperlyConfigured) -> None:
        super().__init__(str(problem))


class SameValue(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has this value already")


def stored(name: str) -> str | None:
    """The text that an operator chose; None if no operator did."""
    return OperatorSetting.objects.filter(pk=name).values_list("value", flat=True).first()


def lock() -> None:
    """Until the end of the transaction nobody else changes a setting."""
    sql.execute("select pg_advisory_xact_lock(%s)", [LOCK])


@transaction.atomic
def choose(name: str, text: str, *, actor: str, now: datetime, reason: str = "") -> SettingChange:
    """Set the operator's value. Raises WrongValue and SameValue."""
    try:
        SETTINGS[name].check(text)
    except ImproperlyConfigured as problem:
        raise WrongValue(problem) from problem
    lock()
    before = stored(name)
    if before == text:
        raise SameValue(name)
    OperatorSetting.objects.update_or_create(pk=name, defaults={"value": text})
    transaction.on_commit(values.look)
    return note(name, before=before, after=text, actor=actor, now=now, reason=reason)


@transaction.atomic
def reset(name: str, *, actor: str, now: datetime, reason: str = "") -> SettingChange:
    """Remove the operator's value. Raises SameValue if there is none."""
    lock()
    before = stored(name)
    if before is None:
        raise SameValue(name)
    OperatorSetting.objects.filter(pk=name).delete()
    transaction.on_commit(values.look)
    return note(name, before=before, after=None, actor=actor, now=now, reason=reason)


def note(
    name: str, *, before: str | None, after: str | None, actor: str, now: datetime, reason: str = ""
) -> SettingChange:
    """Record a change. Call this in its transaction."""
    return SettingChange.objects.create(name=name, before=before, after=after, actor=actor, at=now, reason=reason)
