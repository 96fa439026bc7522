"""Operators choose the value of a setting, or let the environment's value hold again. Each change is recorded."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from config import background, crypto, sql
from config.errors import BadRequest, Conflict
from config.operator_settings.models import OperatorSetting, SettingChange, chosen_texts
from config.operator_settings.registry import SETTINGS, THEN
from config.operator_settings.values import values

LOCK = 0x73657474  # "sett" as ASCII: the advisory lock of all changes
SET = "set"  # all that the history says of a credential


class WrongValue(BadRequest):
    def __init__(self, problem: ImproperlyConfigured) -> None:
        super().__init__(str(problem))


class SameValue(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has this value already")


def is_chosen(name: str) -> bool:
    return OperatorSetting.objects.filter(pk=name).exists()


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
    chosen, is_credential = chosen_texts(name), SETTINGS[name].is_credential
    if crypto.same(chosen.get(name) or "", text) and name in chosen:
        raise SameValue(name)
    kept = {"value": "", "sealed": text} if is_credential else {"value": text}
    OperatorSetting.objects.update_or_create(pk=name, defaults=kept)
    _soon_used(name)
    before = _told(name, chosen)
    return note(name, before=before, after=SET if is_credential else text, actor=actor, now=now, reason=reason)


@transaction.atomic
def reset(name: str, *, actor: str, now: datetime, reason: str = "") -> SettingChange:
    """Remove the operator's value. Raises SameValue if there is none."""
    lock()
    chosen = chosen_texts(name)
    if name not in chosen:
        raise SameValue(name)
    OperatorSetting.objects.filter(pk=name).delete()
    _soon_used(name)
    return note(name, before=_told(name, chosen), after=None, actor=actor, now=now, reason=reason)


def _soon_used(name: str) -> None:
    """After the commit: use the value in this process, and send the task that a change of it needs."""
    transaction.on_commit(values.look)
    if name in THEN:
        background.on_commit(THEN[name])


def _told(name: str, chosen: dict[str, str | None]) -> str | None:
    """What the history says of the value."""
    return SET if SETTINGS[name].is_credential and name in chosen else chosen.get(name)


def note(
    name: str, *, before: str | None, after: str | None, actor: str, now: datetime, reason: str = ""
) -> SettingChange:
    """Record a change. Call this in its transaction."""
    return SettingChange.objects.create(name=name, before=before, after=after, actor=actor, at=now, reason=reason)
