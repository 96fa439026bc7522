"""Celery's workers and Redis: whatever happens to Redis, work continues once Redis is back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config import background, redis_breaker
from config import redis as our_redis
from tests.doubles.broker import Broker
from tests.patience import Patience
from tests.workers import Workers

pytestmark = pytest.mark.unmeasured

TASK = "accounts.purge"
SECONDS_TO_RESUME = 45


@pytest.fixture
def broker(tmp_path: Path, settings: Any) -> Iterator[Broker]:
    with Broker(tmp_path).used(settings) as broker:
        yield broker


def _resumes(celery: Workers) -> bool:
    """Whether a new task runs."""
    patience = Patience(SECONDS_TO_RESUME)
    before = _done(celery)
    while _done(celery) <= before:
        if patience.ended():
            return False
        redis_breaker.forget_outage()
        background.on_commit(TASK)
        time.sleep(0.3)
    return True


def _done(celery: Workers) -> int:
    return len(re.findall(rf"Task {TASK}\[\S+\] succeeded", celery.log()))


@pytest.fixture
def worker(broker: Broker, celery: Workers) -> Workers:
    celery.start("default", environment={"REDIS_URL": broker.url})
    return celery


@pytest.mark.sampled
def test_a_worker_goes_on_after_redis_was_killed_hung_or_wiped(worker: Workers, broker: Broker) -> None:
    assert _resumes(worker)
    broker.wipe()
    assert _resumes(worker)
    broker.kill()
    time.sleep(3)
    broker.start()
    assert _resumes(worker)
    broker.hang()
    time.sleep(7)  # longer than a worker waits for an answer
    broker.wake_up()
    assert _resumes(worker)


def test_a_task_is_in_the_queue_of_its_routes(
    broker: Broker, db: None, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        background.on_commit("agents.reconcile", "agt_0")
        background.on_commit("webhooks.drain")
    assert our_redis.client().llen("lifecycle") == 1
    assert our_redis.client().llen("webhooks") == 1
