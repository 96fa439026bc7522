"""What is left of the limits that a call counted against, in the headers `RateLimit-Policy` and `RateLimit`.

They have the form of draft-ietf-httpapi-ratelimit-headers-11.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from dataclasses import dataclass

POLICY, STATE = "RateLimit-Policy", "RateLimit"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedLimit:
    """A limit of `times` calls in any `seconds`. `left` of them are left, until `resets_ms` there are no more."""

    name: str
    times: int
    seconds: int
    left: int
    resets_ms: int


_counted: ContextVar[tuple[CountedLimit, ...] | None] = ContextVar("rate_limits", default=None)


def begin() -> None:
    """Each call of the API begins with it, and ends with `forget`."""
    _counted.set(())


def forget() -> None:
    _counted.set(None)


def note(limit: CountedLimit) -> None:
    """Tell the caller of it. Outside of a call there is nobody to tell."""
    if (found := _counted.get()) is not None:
        _counted.set((*found, limit))


def headers() -> dict[str, str]:
    """Both headers, or none where the call counted against no limit."""
    found = _counted.get()
    if not found:
        return {}
    return {
        POLICY: ", ".join(f'"{one.name}";q={one.times};w={one.seconds}' for one in found),
        STATE: ", ".join(f'"{one.name}";r={one.left};t={math.ceil(one.resets_ms / 1000)}' for one in found),
    }
