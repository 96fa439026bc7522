"""People who sign in with a code, and a Redis that is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import tasks, throttling
from accounts.oauth.models import OAuthClient
from config import redis, redis_breaker
from tests.accounts.oauth.asking_program import CLIENT

ANN = "ann@example.com"

SignIn = Callable[..., APIClient]

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Forget a process's memory of outages and counts before and after each test."""
    redis_breaker.forget_outage()
    throttling.forget_local()
    yield
    redis_breaker.forget_outage()
    throttling.forget_local()


@pytest.fixture
def sign_in(api: APIClient) -> SignIn:
    """`sign_in("ann@example.com")` signs a person in with a code and returns a client with the session token."""

    def through_the_mailbox(email: str = "ann@example.com", **verify: Any) -> APIClient:
        code = api.post("/auth/request", {"email": email}, format="json").json()["devCode"]
        body = {"email": email, "code": code, **verify}
        answer = api.post("/auth/verify", body, format="json")
        assert answer.status_code == 200, answer.content
        return with_token(answer.json()["token"])

    return through_the_mailbox


@pytest.fixture
def ann(db: None, sign_in: SignIn) -> APIClient:
    return sign_in("ann@example.com")


@pytest.fixture
def bob(db: None, sign_in: SignIn) -> APIClient:
    return sign_in("bob@example.com")


def with_token(token: str) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def new_key(session: APIClient, name: str = "agent") -> tuple[dict[str, Any], APIClient]:
    """Create a key for the session's user. Returns the key, and a client that uses it."""
    made = session.post("/keys", {"name": name}, format="json").json()
    return made["key"], with_token(made["secret"])


def mailed_code() -> str:
    """The digits in the newest mail."""
    tasks.send_codes()
    return str(mail.outbox[-1].body).split("\n", 1)[0].rsplit(" ", 1)[1]


@pytest.fixture
def redis_away(settings: Settings) -> Iterator[None]:
    """No server listens where Redis should be."""
    settings.REDIS_URL = settings.CELERY_BROKER_URL = "redis+socket:///tmp/there-is-no-redis-here.sock?virtual_host=0"
    redis.client.cache_clear()
    yield
    redis.client.cache_clear()


@pytest.fixture
def program(db: None) -> OAuthClient:
    """A program whose document was read just now."""
    return OAuthClient.objects.create(
        id=CLIENT,
        name="A program",
        redirect_uris=["http://127.0.0.1/back", "https://program.example/back"],
        grant_types=["authorization_code"],
        fetched_at=timezone.now(),
    )
