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

from config import rate_limits, redis_breaker
from config.errors import RateLimited
from config.rate_limits import CountedLimit

MAX_LOCAL_COUNTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most `times` calls in any `seconds`. Refused calls do not count.

    Answers show callers what is left (config/rate_limits.py). `told` is false for our own limits at other services.
    """

    name: str
    times: int
    seconds: int
    told: bool = True


AUTH_REQUEST = Limit(name="auth-request", times=10, seconds=600)
AUTH_VERIFY = Limit(name="auth-verify", times=10, seconds=600)
OAUTH_DOCUMENT = Limit(name="oauth-document", times=20, seconds=600)
OAUTH_DEVICE = Limit(name="oauth-device", times=20, seconds=600)
OAUTH_TOKEN = Limit(name="oauth-token", times=400, seconds=600)  # a device asks each five seconds
OAUTH_CODE = Limit(name="oauth-code", times=20, seconds=600)
ADMIN_LOGIN = Limit(name="admin-login", times=10, seconds=600)
ADMIN_LOGIN_HOUR = Limit(name="admin-login-hour", times=30, seconds=3600)

# Both counters use whole milliseconds. They return whether the call may go on, how many are left after it, and how long
# it takes until the oldest of the counted calls no longer counts.
_SPEND = """
local now, window, times = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local used, allowed = redis.call('ZCARD', KEYS[1]), 0
if used < times then
  redis.call('ZADD', KEYS[1], now, ARGV[4])
  redis.call('PEXPIRE', KEYS[1], window)
  used, allowed = used + 1, 1
end
local oldest = tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2])
return {allowed, times - used, oldest + window - now}
"""

Count = tuple[bool, int, int]

_local: dict[str, deque[int]] = {}
_local_lock = threading.Lock()


def spend(limit: Limit, *, by: str, now: datetime) -> None:
    """Count one use of `limit` by `by`. Raises RateLimited with the seconds until the next use is allowed."""
    allowed, left, resets_ms = _count(limit, f"throttle:{limit.name}:{by}", now_ms=int(now.timestamp() * 1000))
    if limit.told:
        state = {"left": max(left, 0), "resets_ms": resets_ms}
        rate_limits.note(CountedLimit(name=limit.name, times=limit.times, seconds=limit.seconds, **state))
    if not allowed:
        seconds = math.ceil(resets_ms / 1000)
        raise RateLimited(
            f"more than {limit.times} requests in {limit.seconds // 60} minutes: try again in {seconds} s",
            retry_after=seconds,
        )


def forget_local() -> None:
    """Forget the counts of this process."""
    with _local_lock:
        _local.clear()


def _count(limit: Limit, key: str, *, now_ms: int) -> Count:
    def count(client: redis.Redis) -> Count:
        member = f"{now_ms}-{secrets.token_hex(6)}"
        found = client.register_script(_SPEND)([key], [now_ms, limit.seconds * 1000, limit.times, member])
        return bool(found[0]), int(found[1]), int(found[2])

    try:
        return redis_breaker.attempt(count)
    except redis_breaker.Away:
        return _count_locally(limit, key, now_ms=now_ms)


def _count_locally(limit: Limit, key: str, *, now_ms: int) -> Count:
    window = limit.seconds * 1000
    with _local_lock:
        times = _local.pop(key, deque())
        while times and times[0] <= now_ms - window:
            times.popleft()
        allowed = len(times) < limit.times
        if allowed:
            times.append(now_ms)
        _local[key] = times  # last: the least recently used is dropped first
        if len(_local) > MAX_LOCAL_COUNTS:
            del _local[next(iter(_local))]
        return allowed, limit.times - len(times), times[0] + window - now_ms
