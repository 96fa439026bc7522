"""The limits of an API key on the pages: what the form offers, what it sends, and how a key's limits are told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext, ngettext

from accounts.models import ApiKey, User
from accounts.scopes import Scope
from config import numbers
from pages.account import words

MODEL_AMOUNTS = {"perDay": "usdPerDay", "perMonth": "usdPerMonth"}  # of the form, and of the API
FIELDS = ("may", "agent", "days", "most", *MODEL_AMOUNTS)
DAYS = (7, 30, 90, 365)
AGENTS = 200  # in the list of the form; the API takes any agent


def asked(typed: Mapping[str, str], *, now: datetime) -> dict[str, Any]:
    """What the form says of the key, as the body of `POST /keys`."""
    return {
        "scopes": typed["may"].split() or None,
        "agentId": typed["agent"] or None,
        "expiresAt": _end(typed["days"], now=now),
        "spendLimitUsd": usd(typed["most"]),
        **{name: usd(typed[field]) for field, name in MODEL_AMOUNTS.items()},
    }


def choices(user: User, typed: Mapping[str, str]) -> dict[str, Any]:
    """What the form offers, and what was typed before."""
    days = [(str(days), ngettext("%(count)d day", "%(count)d days", days) % {"count": days}) for days in DAYS]
    agents = list(user.agents.live().order_by("-created_at").values_list("pk", "name")[:AGENTS])
    return {"mays": list(_mays().items()), "agents_of_keys": agents, "days": days, "typed": typed}


def told(key: ApiKey) -> list[str]:
    """The limits of a key, each in a few words."""
    lines = []
    if key.scopes is not None:
        lines.append(_mays()[" ".join(scope for scope in key.scopes if scope != Scope.READ) or Scope.READ])
    if key.agent_id is not None:
        lines.append(gettext("one agent only"))
    if key.spend_limit_usd is not None:
        lines.append(gettext("orders up to $%(usd)s") % {"usd": f"{key.spend_limit_usd:.2f}"})
    if key.day_usd is not None:
        lines.append(gettext("models up to $%(usd)s a day") % {"usd": f"{key.day_usd:.2f}"})
    if key.month_usd is not None:
        lines.append(gettext("models up to $%(usd)s a month") % {"usd": f"{key.month_usd:.2f}"})
    if key.expires_at is not None:
        lines.append(gettext("until %(time)s") % {"time": words.moment(key.expires_at)})
    return lines


def _mays() -> dict[str, str]:
    """What a key may do, by its scopes beside `read`, which each key has."""
    return {
        Scope.READ.value: gettext("Read only"),
        Scope.OPERATE.value: gettext("Read and operate agents"),
        Scope.PAY.value: gettext("Read and pay"),
        f"{Scope.OPERATE} {Scope.PAY}": gettext("Read, operate agents and pay"),
    }


def _end(days: str, *, now: datetime) -> str | None:
    if not days:
        return None
    return (now + timedelta(days=int(days))).isoformat() if days in map(str, DAYS) else days


def usd(most: str) -> object:
    """The number that was typed, also with a comma. What is no number stays a text, which is refused."""
    typed = most.strip()
    return (numbers.amount(typed) or typed) if typed else None
