"""Deletes the log of hosts when it is old, and all of a deleted agent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from agents.egress.models import Egress, EgressHost
from config import sql

KEPT = timedelta(days=30)
FORGOTTEN_AT_ONCE = 20_000
_FORGET = "DELETE FROM agents_egresshost WHERE id IN (SELECT id FROM agents_egresshost WHERE day < %s LIMIT %s)"


def forget(*, now: datetime) -> None:
    """Delete what is too old, in parts: each statement is a transaction of its own."""
    while sql.execute(_FORGET, [(now - KEPT).date(), FORGOTTEN_AT_ONCE]) == FORGOTTEN_AT_ONCE:
        pass


def erase(agent_ids: Sequence[str]) -> None:
    """Delete rules, secrets and log of these agents."""
    EgressHost.objects.filter(agent__in=agent_ids).delete()
    Egress.objects.filter(agent__in=agent_ids).delete()
