"""What operators chose is read seldom, reaches every process within five seconds, and no bad row stops the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from accounts import sessions
from accounts.models import User
from config.operator_settings import choosing, operator_settings
from config.operator_settings.models import OperatorSetting
from config.operator_settings.values import ChosenValues, values
from tests.operating import choose_setting
from tests.patience import wait_until
from tests.webs import Web

WITHIN_SECONDS = 5


@pytest.fixture
def web(transactional_db: None, tmp_path: Path) -> Iterator[Web]:
    """Another process, of which this one knows nothing."""
    web = Web(tmp_path / "web.log")
    web.wait()
    yield web
    web.stop()


@pytest.mark.django_db
@pytest.mark.parametrize(("environment", "chosen", "holds"), [(5, None, 5), (5, "9", 9), (5, "5", 5)])
def test_the_operators_value_counts_before_the_environment(
    settings: Settings, environment: int, chosen: str | None, holds: int
) -> None:
    settings.MAX_KEYS = environment
    if chosen:
        choose_setting("MAX_KEYS", chosen)
    assert holds == operator_settings.MAX_KEYS


@pytest.mark.django_db
def test_all_settings_are_read_with_one_statement_now_and_then(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    choose_setting("MAX_KEYS", "9")
    choose_setting("SELLER_NAME", "Pods Ltd")
    chosen = ChosenValues()  # not the one that other threads of this process ask too
    with django_assert_num_queries(1):
        assert chosen.current() == {"MAX_KEYS": 9, "SELLER_NAME": "Pods Ltd"}
    with django_assert_num_queries(0):
        assert chosen.current() == {"MAX_KEYS": 9, "SELLER_NAME": "Pods Ltd"}


@pytest.mark.django_db
def test_a_value_that_cannot_be_read_is_logged_once_and_the_environments_holds(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.MAX_KEYS = 5
    OperatorSetting.objects.create(name="MAX_KEYS", value="soon")
    OperatorSetting.objects.create(name="GRACE_DAYS", value="4")
    for _ in range(3):
        values.look()
    assert (operator_settings.MAX_KEYS, operator_settings.GRACE_DAYS) == (5, 4)
    assert caplog.text.count("MAX_KEYS='soon' must be a whole number") == 1


@pytest.mark.django_db
def test_a_row_of_a_setting_that_is_no_more_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    OperatorSetting.objects.create(name="FORMER_SETTING", value="1")
    choose_setting("MAX_KEYS", "9")
    assert operator_settings.MAX_KEYS == 9
    assert not caplog.records


@pytest.mark.django_db
def test_while_the_database_cannot_be_read_the_last_values_stay(caplog: pytest.LogCaptureFixture) -> None:
    choose_setting("MAX_KEYS", "9")
    with transaction.atomic():
        transaction.set_rollback(True)  # PostgreSQL answers nothing in a transaction that has failed
        values._next_look = 0.0
        assert operator_settings.MAX_KEYS == 9
        assert "the last values stay in use" in caplog.text
        caplog.clear()
        assert operator_settings.MAX_KEYS == 9
        assert not caplog.records, "the next try is seconds away"


def test_another_process_sees_a_change_within_five_seconds(web: Web) -> None:
    _, token = sessions.start(User.objects.create_user("ann@example.com"), attribution=None, now=timezone.now())
    assert web.get("/tiers").json()["trial"]["days"] == 7
    assert web.send("POST", "/keys", {"name": "first"}, token=token).status_code == 200
    choosing.choose("TRIAL_DAYS", "30", actor="operator:test", now=timezone.now())
    choosing.choose("MAX_KEYS", "1", actor="operator:test", now=timezone.now())

    def is_seen() -> bool:
        days = web.get("/tiers").json()["trial"]["days"]
        return days == 30 and web.send("POST", "/keys", {"name": "more"}, token=token).status_code == 400

    wait_until(is_seen, WITHIN_SECONDS)
