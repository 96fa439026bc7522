"""Redis for rate limits and caches. Redis may be slow, empty or down at any moment, so each call has a time limit."""

from __future__ import annotations

import functools
from urllib.parse import parse_qs, urlsplit

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_SECONDS = 0.5
POOL_SIZE = 64


@functools.cache
def client() -> redis.Redis:
    """The client of this process. Every call may raise `redis.RedisError` within about a second."""
    return redis.Redis.from_url(
        client_url(settings.REDIS_URL),
        max_connections=POOL_SIZE,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def client_url(url: str) -> str:
    """Turn Celery's form of a socket URL (`redis+socket://`) into the Redis client's (`unix://`)."""
    parts = urlsplit(url)
    if parts.scheme != "redis+socket":
        return url
    database = parse_qs(parts.query).get("virtual_host", ["0"])[0]
    return f"unix://{parts.path}?db={database}"
