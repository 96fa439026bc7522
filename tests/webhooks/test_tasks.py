from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from celery.signals import worker_shutting_down
from django.utils import timezone

from agents.models import Agent
from config.celery import BEAT, app
from tests.doubles.receiver import Receiver
from tests.webhooks.conftest import delivery_of, emit, hook_of
from webhooks import delivery_loop, tasks
from webhooks.models import State


def test_the_tasks_have_the_names_that_the_schedule_calls() -> None:
    assert {name for name in app.tasks if name.startswith("webhooks.")} == {
        task for task, _, _ in BEAT.values() if re.match(r"webhooks\.", task)
    }


def test_the_drain_task_delivers(hooked: Agent, receiver: Receiver, transactional_db: None) -> None:
    event = emit(hooked, now=timezone.now())
    tasks.drain()
    assert delivery_of(event).state == State.DELIVERED


def test_the_purge_task_erases_old_secrets(hooked: Agent) -> None:
    hook = hook_of(hooked)
    hook.previous_secret, hook.rotated_at = "whsec_old", hook.created_at.replace(year=2020)
    hook.save()
    tasks.purge()
    assert hook_of(hooked).previous_secret is None


@pytest.fixture
def _restarted() -> Iterator[None]:
    yield
    delivery_loop.stopping.clear()


@pytest.mark.usefixtures("_restarted")
def test_a_worker_that_is_told_to_stop_stops_its_drain() -> None:
    worker_shutting_down.send(sender="worker")
    assert delivery_loop.stopping.is_set()
