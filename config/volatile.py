"""Redis as a store that may be wiped or gone: short time limits, and a breaker so that an outage slows few calls."""

from __future__ import annotations

import functools
import logging
import re
import time
from collections.abc import Callable
from typing import TypeVar

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 0.25
OPEN_SECONDS = 5.0
MAX_CONNECTIONS = 64

T = TypeVar("T")

_closed_at = 0.0  # the monotonic time until which Redis is not asked again


class Away(Exception):  # noqa: N818  # as the rule says it
    """Redis does not answer: do without it."""


def attempt(work: Callable[[redis.Redis], T]) -> T:
    """`work(client)`, one try. Raises Away when Redis is not there, and for some seconds after that without asking."""
    global _closed_at  # noqa: PLW0603  # the breaker: one number per process, written whole
    if time.monotonic() < _closed_at:
        raise Away
    try:
        return work(_client(settings.REDIS_URL))
    except (redis.RedisError, OSError) as error:
        _closed_at = time.monotonic() + OPEN_SECONDS
        log.warning("Redis does not answer; doing without it for %s s: %s", OPEN_SECONDS, error)
        raise Away from error


def forget_outage() -> None:
    """Ask Redis again at the next call."""
    global _closed_at  # noqa: PLW0603
    _closed_at = 0.0


def client_url(url: str) -> str:
    """REDIS_URL as the Redis client spells it; Celery's `redis+socket://…?virtual_host=1` is `unix://…?db=1` there."""
    if not url.startswith("redis+socket://"):
        return url
    return re.sub(r"([?&])virtual_host=", r"\1db=", url.replace("redis+socket://", "unix://", 1))


@functools.cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        client_url(url),
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        max_connections=MAX_CONNECTIONS,
        retry=Retry(NoBackoff(), 0),
    )
