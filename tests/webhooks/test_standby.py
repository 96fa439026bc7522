"""Real workers without Redis. Due deliveries are in PostgreSQL and are still sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from celery import Celery
from celery.signals import celeryd_after_setup
from django.db import OperationalError, connection

from agents.models import Agent
from tests.doubles.broker import Broker
from tests.doubles.receiver import Receiver
from tests.patience import Patience
from tests.webhooks.conftest import HookClock, MakeAgent, delivery_of, emit
from tests.workers import Workers, database_url
from webhooks.models import Event, State

SECONDS = 20
STOP_SECONDS = 10


@pytest.fixture
def broker(tmp_path: Path, settings: Any) -> Iterator[Broker]:
    with Broker(tmp_path).used(settings) as broker:
        yield broker


def environment(broker: Broker) -> dict[str, str]:
    return {"WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8", "REDIS_URL": broker.url}


def delivered(event: Event) -> bool:
    patience = Patience(SECONDS)
    while delivery_of(event).state != State.DELIVERED and not patience.ended():
        time.sleep(0.05)
    return delivery_of(event).state == State.DELIVERED


@pytest.mark.sampled
def test_deliveries_go_on_while_redis_is_stopped_and_after_it_is_back(
    celery: Workers, broker: Broker, receiver: Receiver, make_agent: MakeAgent
) -> None:
    agent = make_agent(receiver.url)
    worker = celery.start("webhooks", environment=environment(broker))
    broker.kill()
    assert delivered(emit(agent))
    broker.start()
    assert delivered(emit(agent))
    assert len(receiver.received) == 2
    worker.terminate()
    assert worker.wait(STOP_SECONDS) == 0


@pytest.mark.sampled
def test_a_worker_that_is_started_without_redis_delivers(
    celery: Workers, broker: Broker, receiver: Receiver, make_agent: MakeAgent
) -> None:
    event = emit(make_agent(receiver.url))
    broker.kill()
    celery.start("webhooks", environment=environment(broker), until="Cannot connect to redis")
    assert delivered(event)


def test_a_look_that_loses_its_connection_is_not_the_last_of_its_thread(
    hooked: Agent, receiver: Receiver, transactional_db: None, clock: HookClock, deliver: Callable[[], int]
) -> None:
    emit(hooked, now=clock.now)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    with psycopg.connect(database_url(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    with pytest.raises(OperationalError):
        deliver()
    assert deliver() == 1


def test_a_worker_of_other_queues_delivers_nothing() -> None:
    other = Celery(set_as_current=False)
    other.select_queues(["default"])
    celeryd_after_setup.send(sender="worker", instance=SimpleNamespace(app=other), conf=None)
    assert "deliveries" not in {thread.name for thread in threading.enumerate()}
