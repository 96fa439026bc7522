"""Redis as a store that may be down. A circuit breaker lets an outage slow only one call every few seconds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

import redis

from config.redis import client

log = logging.getLogger(__name__)

OPEN_SECONDS = 5.0

T = TypeVar("T")

_open_until = 0.0  # time.monotonic() at which Redis is asked again


class Away(Exception):  # short, as the rules read
    """Redis does not answer: continue without it."""


def attempt(work: Callable[[redis.Redis], T]) -> T:
    """Return `work(client)`, tried once.

    Raises Away if Redis is down, and for OPEN_SECONDS after that without asking Redis.
    """
    global _open_until  # noqa: PLW0603  # one number per process, written in one step
    if time.monotonic() < _open_until:
        raise Away
    try:
        return work(client())
    except (redis.RedisError, OSError) as error:
        _open_until = time.monotonic() + OPEN_SECONDS
        log.warning("Redis does not answer; doing without it for %s s: %s", OPEN_SECONDS, error)
        raise Away from error


def forget_outage() -> None:
    """Let the next call ask Redis again."""
    global _open_until  # noqa: PLW0603
    _open_until = 0.0
