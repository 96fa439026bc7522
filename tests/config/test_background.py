from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator

import pytest
from django.db import transaction
from pytest_django import Settings

from config import background, redis, redis_breaker


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    redis_breaker.forget_outage()
    redis.client.cache_clear()
    background._connection.cache_clear()


def _broker(settings: Settings, url: str) -> None:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = url
    _forget()


def _queued() -> list[str]:
    messages = redis.client().lrange("default", 0, -1)
    return [json.loads(message)["headers"]["task"] for message in messages]


@pytest.mark.django_db(transaction=True)
def test_the_task_is_sent_when_the_transaction_commits() -> None:
    with transaction.atomic():
        background.on_commit("accounts.send_code", "cod_1")
        assert _queued() == []
    assert _queued() == ["accounts.send_code"]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_when_it_does_not() -> None:
    with transaction.atomic():
        background.on_commit("accounts.send_code", "cod_1")
        transaction.set_rollback(True)
    assert _queued() == []


def test_a_thread_without_a_database_sends_at_once() -> None:
    background.at_once("accounts.send_code", "cod_1")
    assert _queued() == ["accounts.send_code"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["gone", "refusing", "silent"])
def test_a_broker_that_is_down_is_no_error_and_is_waited_for_once(settings: Settings, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = server.getsockname()[1]
        if kind == "refusing":
            server.close()
        url = "redis+socket:///tmp/no-redis.sock?virtual_host=0" if kind == "gone" else f"redis://127.0.0.1:{port}/0"
        _broker(settings, url)
        for _ in range(20):
            background.on_commit("accounts.send_code", "cod_1")
        assert _calls(server) == (1 if kind == "silent" else 0)


def _calls(server: socket.socket) -> int:
    """The number of connections that wait at this server unanswered."""
    if server.fileno() < 0:
        return 0
    server.setblocking(False)
    calls = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            calls += 1
    return calls


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_back_gets_tasks_again(settings: Settings) -> None:
    url = settings.REDIS_URL
    _broker(settings, "redis+socket:///tmp/no-redis.sock?virtual_host=0")
    background.on_commit("accounts.send_code", "cod_1")
    _broker(settings, url)
    background.on_commit("accounts.send_code", "cod_1")
    assert _queued() == ["accounts.send_code"]


@pytest.mark.django_db(transaction=True)
def test_many_wakes_of_one_sweep_are_one_at_once_and_one_at_the_end() -> None:
    with background.gathered():
        for _ in range(5):
            background.on_commit("webhooks.purge")
        assert _queued() == ["webhooks.purge"]
    assert _queued() == ["webhooks.purge"] * 2


@pytest.mark.django_db(transaction=True)
def test_a_sweep_that_wakes_once_wakes_once_and_tasks_with_ids_are_all_sent() -> None:
    with background.gathered():
        background.on_commit("webhooks.purge")
        background.on_commit("accounts.send_code", "cod_1")
        background.on_commit("accounts.send_code", "cod_2")
    assert sorted(_queued()) == ["accounts.send_code", "accounts.send_code", "webhooks.purge"]
