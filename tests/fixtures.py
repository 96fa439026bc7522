"""Fixtures for all apps; those of one app are in its own conftest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from config.redis import client as redis_client
from tests.workers import Workers


@pytest.fixture
def api() -> APIClient:
    """A caller without a credential. A server error is answered, not raised, as it would be in real life."""
    return APIClient(raise_request_exception=False)


@pytest.fixture(autouse=True)
def empty_redis() -> None:
    """Throttles and queues of one test are not another's."""
    redis_client().flushdb()
    cache.clear()


@pytest.fixture
def celery(transactional_db: None, tmp_path: Path) -> Iterator[Workers]:
    """Real worker processes on the test's own database and queues: `celery.start("lifecycle", "default")`."""
    workers = Workers(tmp_path)
    yield workers
    workers.stop()
