"""Redis as a store that may be gone: a breaker, so that an outage slows one call in some seconds and no more."""

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

_open_until = 0.0  # in monotonic time


class Away(Exception):  # as the rule says it
    """Redis does not answer: do without it."""


def attempt(work: Callable[[redis.Redis], T]) -> T:
    """`work(client)`, one try. Raises Away when Redis is not there, and for some seconds after that without asking."""
    global _open_until  # noqa: PLW0603  # one number per process, written whole
    if time.monotonic() < _open_until:
        raise Away
    try:
        return work(client())
    except (redis.RedisError, OSError) as error:
        _open_until = time.monotonic() + OPEN_SECONDS
        log.warning("Redis does not answer; doing without it for %s s: %s", OPEN_SECONDS, error)
        raise Away from error


def forget_outage() -> None:
    """Ask Redis again at the next call."""
    global _open_until  # noqa: PLW0603
    _open_until = 0.0
