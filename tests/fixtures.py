"""Fixtures for all apps. The fixtures of one app are in its own conftest."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings
from rest_framework.test import APIClient

from catalog import snapshot
from config import tracing
from config.operator_settings.values import values
from config.redis import client as redis_client
from tests.doubles.chain import Chain
from tests.doubles.name_server import NameServer
from tests.doubles.smtp_server import SmtpServer
from tests.workers import Workers

if TYPE_CHECKING:
    from tests.doubles.collector import CollectorDouble

OUR_ADDRESS = "203.0.113.10"


@pytest.fixture
def api() -> APIClient:
    """A client without a credential. A server error becomes an answer, as in production, and is not raised."""
    return APIClient(raise_request_exception=False)


@pytest.fixture(autouse=True)
def empty_redis() -> None:
    """Each test starts with empty throttles, queues and cache."""
    redis_client().flushdb()
    cache.clear()


@pytest.fixture(autouse=True)
def own_catalog() -> None:
    """Make the first use look at the database again, so that a test does not see the catalog of the test before it."""
    snapshot._holder._checked_at = 0.0


def _forget_operators() -> None:
    values._use({})
    values._looked, values._next_look = True, float("inf")


_forget_operators()  # fixtures of a session run before those of the first test


@pytest.fixture(autouse=True)
def no_operator() -> Iterator[None]:
    """No operator chose a setting, and nothing asks the database. A change in this process is seen anyway."""
    _forget_operators()
    yield
    _forget_operators()


@pytest.fixture(scope="session", autouse=True)
def no_names() -> Iterator[None]:
    """No customer hostname exists, unless a test has its own name server."""
    with NameServer().listening() as server:
        settings.DOMAIN_NAMESERVERS = [server.address]
        yield


@pytest.fixture
def dns(settings: Settings) -> Iterator[NameServer]:
    """A name server whose answers the test sets. `203.0.113.10` is our address."""
    settings.EXPECTED_IP = OUR_ADDRESS
    with NameServer().listening() as server:
        settings.DOMAIN_NAMESERVERS = [server.address]
        yield server


@pytest.fixture
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's clock follows the test's clock."""
    monkeypatch.setattr("config.clock.of_the_database", timezone.now)


@pytest.fixture
def django_assert_num_queries(
    django_assert_num_queries: Callable[..., AbstractContextManager[CaptureQueriesContext]],
) -> Callable[..., AbstractContextManager[CaptureQueriesContext]]:
    """Count queries without the check of the catalog's version, which happens once a second."""

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
    """At the end, close the connections of leftover threads and processes, so that the database can be dropped."""
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
def collector(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[CollectorDouble]:
    """Traces are on in this process, and go there."""
    from config.tracing import recorder, starting  # the library is heavy, and few tests need it
    from tests.doubles.collector import CollectorDouble

    with CollectorDouble() as double:
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = double.url
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", double.url)
        monkeypatch.setattr(recorder, "SEND_EVERY_MILLISECONDS", 100)
        starting.start("web")
        yield double
        tracing._recorder = None
        connection.execute_wrappers.clear()


@pytest.fixture
def smtp(settings: Settings) -> Iterator[SmtpServer]:
    """A real mail server, and the settings that use it."""
    server = SmtpServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 5
    yield server
    server.stop()


@pytest.fixture(scope="session")
def one_chain() -> Iterator[Chain]:
    """One EVM node for all tests of a process. It is here, because a session's fixture that modules import is made anew
    for each of them.
    """
    chain = Chain()
    yield chain
    chain.stop()
