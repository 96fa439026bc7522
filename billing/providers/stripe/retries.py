"""How long to wait before the next call to Stripe after a failed one: longer each time, at most one hour."""

from __future__ import annotations

from datetime import timedelta

FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
LEASE = timedelta(minutes=2)  # longer than the calls of one attempt; after a crash another worker tries again


def wait_after(attempts: int, *, at_least: timedelta = FIRST_WAIT) -> timedelta:
    doubled: timedelta = FIRST_WAIT * (1 << min(attempts, 10))
    return max(min(doubled, LONGEST_WAIT), at_least)
