"""Fixtures for all apps; those of one app are in its own conftest."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings
from rest_framework.test import APIClient

from catalog import snapshot
from config.redis import client as redis_client
from tests.doubles.name_server import NameServer
from tests.doubles.smtp_server import SmtpServer
from tests.workers import Workers

OUR_ADDRESS = "203.0.113.10"


@pytest.fixture
def api() -> APIClient:
    """A caller without a credential. A server error is answered, not raised, as it would be in real life."""
    return APIClient(raise_request_exception=False)


@pytest.fixture(autouse=True)
def empty_redis() -> None:
    """Throttles and queues of one test are not another's."""
    redis_client().flushdb()
    cache.clear()


@pytest.fixture(autouse=True)
def own_catalog() -> None:
    """What one test read of its catalog is not served to the next one until a second ends: the first use looks."""
    snapshot._holder._checked_at = 0.0


@pytest.fixture(scope="session", autouse=True)
def no_names() -> Iterator[None]:
    """Customers' hostnames do not exist, unless a test has a name server of its own."""
    with NameServer().listening() as server:
        settings.DOMAIN_NAMESERVERS = [server.address]
        yield


@pytest.fixture
def dns(settings: Settings) -> Iterator[NameServer]:
    """The world's names, as the test tells them. `203.0.113.10` is ours."""
    settings.EXPECTED_IP = OUR_ADDRESS
    with NameServer().listening() as server:
        settings.DOMAIN_NAMESERVERS = [server.address]
        yield server


@pytest.fixture
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's clock goes with the test's."""
    monkeypatch.setattr("config.clock.of_the_database", timezone.now)


@pytest.fixture
def django_assert_num_queries(
    django_assert_num_queries: Callable[..., AbstractContextManager[CaptureQueriesContext]],
) -> Callable[..., AbstractContextManager[CaptureQueriesContext]]:
    """Counted without the catalog's look at its version, which falls where a second ends."""

    @contextmanager
    def count(*arguments: Any, **named: Any) -> Generator[CaptureQueriesContext]:
        if snapshot._holder._snapshot and not snapshot._holder._checked_at:
            snapshot.current()
        with pytest.MonkeyPatch.context() as patch, django_assert_num_queries(*arguments, **named) as queries:
            patch.setattr(snapshot, "CHECK_SECONDS", max(snapshot.CHECK_SECONDS, 60.0))
            yield queries

    return count


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """At the end, threads and processes that tests left connected must not keep the database from being dropped."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
            " and pid <> pg_backend_pid()"
        )


@pytest.fixture
def celery(transactional_db: None, tmp_path: Path) -> Iterator[Workers]:
    """Real worker processes on the test's own database and queues: `celery.start("lifecycle", "default")`."""
    workers = Workers(tmp_path)
    yield workers
    workers.stop()


@pytest.fixture
def smtp(settings: Settings) -> Iterator[SmtpServer]:
    """A real mail server, and settings that use it."""
    server = SmtpServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 5
    yield server
    server.stop()
