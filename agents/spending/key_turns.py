"""Turns that an API key starts: what the gateway is told of the key, and when no turn begins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.models import ApiKey
from agents.models import Agent
from agents.spending import key_limits, telling
from agents.spending.models import SpendingBook
from agents.spending.spent import NOTHING
from agents.spending.telling import LimitState
from config.errors import Unavailable


class KeyLimitReached(Unavailable):
    """The model would refuse the turn's calls, so no engine is asked."""

    def __init__(self, key: ApiKey, state: LimitState, *, now: datetime) -> None:
        super().__init__(
            f"model: the limit of your API key {key.name!r} of {state.limit} USD for a {state.period} is reached; its"
            f" turns go on at {state.ends_at:%Y-%m-%dT%H:%M:%SZ}, or when a person raises it on the account's page or"
            f" with PUT /keys/{key.pk}/limits and a session token",
            retry_after=int((state.ends_at - now).total_seconds()) + 1,
        )


def begin(key: ApiKey | None, *, agent: Agent, now: datetime) -> Mapping[str, Any] | None:
    """What the gateway needs to know of the key that starts a turn with the agent. It comes with the turn, on the
    listener that only the control plane may call, so the engine can neither change nor drop it. Raises KeyLimitReached.
    """
    if key is None:
        return None
    # The batches are read before what was spent, as for an exchange of figures.
    newest = (
        SpendingBook.objects.filter(agent=agent).order_by("-read_at", "-pk").first() if key.has_model_limits else None
    )
    used = key_limits.spent_by(key, now=now) if key.has_model_limits else NOTHING
    for state in telling.states(key, used, now=now):
        if state.is_reached:
            raise KeyLimitReached(key, state, now=now)
    return {
        **key_limits.told(key, used),
        "now": now.timestamp(),
        "day": now.date().isoformat(),
        "book": newest.name if newest else "",
        "ack": newest.number if newest else 0,
    }
