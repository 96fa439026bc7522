"""The operators' switches for sign-ups and for creating agents.

The row in the admin overrides the environment. It is read each time, because sign-ups and creates are rare and cost
much more than this query. So a change works in every process from the next request on.
"""

from __future__ import annotations

from django.conf import settings

from accounts.models import Switches

ONLY_ROW = 1


def sign_ups_open() -> bool:
    """Whether the first sign-in with a new address creates an account."""
    row = _row()
    return settings.SIGN_UPS_OPEN if row is None or row.sign_ups is None else row.sign_ups


def creates_open() -> bool:
    """Whether agents can be created."""
    row = _row()
    return settings.CREATES_OPEN if row is None or row.creates is None else row.creates


def row() -> Switches:
    """The only row, created when it is first read."""
    return Switches.objects.get_or_create(pk=ONLY_ROW)[0]


def _row() -> Switches | None:
    return Switches.objects.filter(pk=ONLY_ROW).first()
