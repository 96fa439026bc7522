"""Limits of calls per time.

They are counted in Redis for all processes, or in this process alone while Redis is down.
"""

from __future__ import annotations

import math
import secrets
import threading
from collections import deque
from dataclasses import dataclass
from datetime import datetime

import redis

from config import redis_breaker
from config.errors import RateLimited

MAX_LOCAL_COUNTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most `times` calls in any `seconds`. Refused calls do not count."""

    name: str
    times: int
    seconds: int


AUTH_REQUEST = Limit(name="auth-request", times=10, seconds=600)
AUTH_VERIFY = Limit(name="auth-verify", times=10, seconds=600)
ADMIN_LOGIN = Limit(name="admin-login", times=10, seconds=600)
ADMIN_LOGIN_HOUR = Limit(name="admin-login-hour", times=30, seconds=3600)

# Both counters use whole milliseconds and return how many to wait; 0 means that the call may go on.
_SPEND = """
local now, window, times = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZCARD', KEYS[1]) < times then
  redis.call('ZADD', KEYS[1], now, ARGV[4])
  redis.call('PEXPIRE', KEYS[1], window)
  return 0
end
return tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) + window - now
"""

_local: dict[str, deque[int]] = {}
_local_lock = threading.Lock()


def spend(limit: Limit, *, by: str, now: datetime) -> None:
    """Count one use of `limit` by `by`. Raises RateLimited with the seconds until the next use is allowed."""
    wait = _wait_ms(limit, f"throttle:{limit.name}:{by}", now_ms=int(now.timestamp() * 1000))
    if wait > 0:
        seconds = math.ceil(wait / 1000)
        raise RateLimited(
            f"more than {limit.times} requests in {limit.seconds // 60} minutes: try again in {seconds} s",
            retry_after=seconds,
        )


def forget_local() -> None:
    """Forget the counts of this process."""
    with _local_lock:
        _local.clear()


def _wait_ms(limit: Limit, key: str, *, now_ms: int) -> int:
    def count(client: redis.Redis) -> int:
        member = f"{now_ms}-{secrets.token_hex(6)}"
        return int(client.register_script(_SPEND)([key], [now_ms, limit.seconds * 1000, limit.times, member]))

    try:
        return redis_breaker.attempt(count)
    except redis_breaker.Away:
        return _wait_local_ms(limit, key, now_ms=now_ms)


def _wait_local_ms(limit: Limit, key: str, *, now_ms: int) -> int:
    window = limit.seconds * 1000
    with _local_lock:
        times = _local.pop(key, deque())
        while times and times[0] <= now_ms - window:
            times.popleft()
        wait = 0 if len(times) < limit.times else times[0] + window - now_ms
        if wait == 0:
            times.append(now_ms)
        _local[key] = times  # last: the least recently used is dropped first
        if len(_local) > MAX_LOCAL_COUNTS:
            del _local[next(iter(_local))]
        return wait
