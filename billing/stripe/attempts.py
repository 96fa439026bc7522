"""When Stripe is asked again for what it did not do yet: ever more rarely, up to once an hour."""

from __future__ import annotations

from datetime import timedelta

FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(hours=1)
LEASE = timedelta(minutes=2)  # longer than the calls of one attempt: another worker follows one that died


def wait_after(attempts: int, *, at_least: timedelta = FIRST_WAIT) -> timedelta:
    doubled: timedelta = FIRST_WAIT * (1 << min(attempts, 10))
    return max(min(doubled, LONGEST_WAIT), at_least)
