from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from celery import current_app

from status import loops
from status.models import Loop
from tests.patience import Patience
from tests.workers import Workers

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class SucceededTask:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture(autouse=True)
def _nothing_written_yet() -> None:
    loops._written.clear()


def test_a_quick_loop_is_late_after_thirty_seconds() -> None:
    last = NOW - timedelta(seconds=30)
    assert not loops.is_late("webhooks.drain", last=last, now=NOW)
    assert loops.is_late("webhooks.drain", last=last - timedelta(seconds=1), now=NOW)


def test_a_slow_loop_is_late_after_three_periods() -> None:
    last = NOW - timedelta(hours=3)
    assert not loops.is_late("accounts.purge", last=last, now=NOW)
    assert loops.is_late("accounts.purge", last=last - timedelta(seconds=1), now=NOW)


@pytest.mark.django_db
def test_the_success_of_a_loops_task_is_recorded() -> None:
    with time_machine.travel(NOW, tick=False):
        loops.note_success(SucceededTask("agents.sweep"))
    assert Loop.objects.get(name="agents.sweep").succeeded_at == NOW


@pytest.mark.django_db
def test_a_later_success_replaces_the_earlier_one() -> None:
    loops.record("agents.sweep", now=NOW)
    loops.record("agents.sweep", now=NOW + timedelta(minutes=1))
    assert Loop.objects.get().succeeded_at == NOW + timedelta(minutes=1)


@pytest.mark.django_db
def test_a_quick_loop_is_written_at_most_once_in_five_seconds() -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        loops.note_success(SucceededTask("webhooks.drain"))
        clock.shift(2)
        loops.note_success(SucceededTask("webhooks.drain"))
    assert Loop.objects.get().succeeded_at == NOW


@pytest.mark.django_db
def test_a_task_that_is_no_loop_is_not_recorded() -> None:
    loops.note_success(SucceededTask("agents.reconcile"))
    loops.note_success(None)
    assert not Loop.objects.exists()


@pytest.mark.django_db
def test_a_database_that_is_down_fails_no_task(caplog: pytest.LogCaptureFixture) -> None:
    """The task has done its work; failing to record that is only a warning."""
    from django.db import DatabaseError, connection

    def refuse(*args: object) -> None:
        raise DatabaseError("the server is away")

    with connection.execute_wrapper(refuse):
        loops.note_success(SucceededTask("agents.sweep"))
    assert "cannot record the success of a loop" in caplog.text


def test_every_loop_names_a_registered_task() -> None:
    current_app.loader.import_default_modules()
    from config.celery import BEAT

    assert {task for task, _, _ in BEAT.values()} <= set(current_app.tasks)


@pytest.mark.sampled
def test_a_worker_records_the_loops_it_works_for(celery: Workers) -> None:
    celery.start("default")
    current_app.send_task("accounts.purge", queue="default")
    patience = Patience(30)
    while not Loop.objects.filter(name="accounts.purge").exists() and not patience.ended():
        time.sleep(0.05)
    assert Loop.objects.get().name == "accounts.purge"
