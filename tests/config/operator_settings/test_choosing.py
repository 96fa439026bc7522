"""Each change of a setting is recorded for good, and two changes at once are one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, transaction

from config.operator_settings import choosing, operator_settings
from config.operator_settings.choosing import SameValue, WrongValue
from config.operator_settings.models import OperatorSetting, SettingChange

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
WHO = "operator:usr_1"

pytestmark = pytest.mark.django_db


def history(name: str = "MAX_KEYS") -> list[tuple[str | None, str | None]]:
    return list(SettingChange.objects.filter(name=name).order_by("id").values_list("before", "after"))


def test_who_changed_what_when_and_why_is_kept() -> None:
    choosing.choose("MAX_KEYS", "9", actor=WHO, now=NOON, reason="a big customer")
    choosing.choose("MAX_KEYS", "12", actor=WHO, now=NOON)
    choosing.reset("MAX_KEYS", actor=WHO, now=NOON)
    assert history() == [(None, "9"), ("9", "12"), ("12", None)]
    first = SettingChange.objects.earliest("id")
    assert (first.actor, first.at, first.reason) == (WHO, NOON, "a big customer")
    assert not OperatorSetting.objects.exists()


def test_an_empty_value_is_a_choice_too() -> None:
    choosing.choose("GUMROAD_PRODUCTS", "", actor=WHO, now=NOON)
    choosing.reset("GUMROAD_PRODUCTS", actor=WHO, now=NOON)
    assert history("GUMROAD_PRODUCTS") == [(None, ""), ("", None)]


def test_a_wrong_value_and_one_that_changes_nothing_leave_no_trace() -> None:
    with pytest.raises(WrongValue, match="MAX_KEYS=0 must be at least 1"):
        choosing.choose("MAX_KEYS", "0", actor=WHO, now=NOON)
    with pytest.raises(SameValue):
        choosing.reset("MAX_KEYS", actor=WHO, now=NOON)
    choosing.choose("MAX_KEYS", "9", actor=WHO, now=NOON)
    with pytest.raises(SameValue, match="MAX_KEYS has this value already"):
        choosing.choose("MAX_KEYS", "9", actor=WHO, now=NOON)
    assert history() == [(None, "9")]


@pytest.mark.parametrize("change", ["UPDATE config_settingchange SET actor = 'x'", "DELETE FROM config_settingchange"])
def test_nobody_edits_or_deletes_the_history(change: str) -> None:
    choosing.choose("MAX_KEYS", "9", actor=WHO, now=NOON)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
    assert history() == [(None, "9")]


@pytest.mark.django_db(transaction=True)
def test_changes_at_once_are_one_after_the_other() -> None:
    def change(number: int) -> None:
        try:
            choosing.choose("MAX_KEYS", str(number), actor=WHO, now=NOON)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(1, 17)))
    changes = history()
    assert len(changes) == 16
    assert [before for before, _ in changes] == [None, *(after for _, after in changes[:-1])]
    assert OperatorSetting.objects.get(pk="MAX_KEYS").value == changes[-1][1]


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_rolled_back_is_not_seen() -> None:
    with transaction.atomic():
        choosing.choose("MAX_KEYS", "9", actor=WHO, now=NOON)
        transaction.set_rollback(True)
    assert operator_settings.MAX_KEYS == 100
    choosing.choose("MAX_KEYS", "9", actor=WHO, now=NOON)
    assert operator_settings.MAX_KEYS == 9
