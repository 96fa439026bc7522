"""The limits of API keys: what model calls may cost in turns that a key starts, over all agents of its account.

Each gateway keeps them for the turns of its own agent. It is told what a key's turns have cost in all, with each turn
of the key and with each exchange of figures. So a limit is exceeded by what its turns with other agents take between
two exchanges, which are twenty seconds apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from accounts import keys
from accounts.models import ApiKey, User
from agents.pod.gateway.spending.limits import Spent
from agents.spending import spent
from agents.spending.models import has_money, units
from agents.spending.spent import NOTHING, DayAndMonth

# A turn that a key started may still run for some minutes after the key has ended.
LAST_TURNS = timedelta(minutes=5)
TOLD = 200  # keys of an account whose limits a gateway is told: those that were used last


@dataclass(frozen=True, slots=True)
class LimitedKeys:
    """The keys of an account that have limits, and what their turns have cost."""

    keys: list[ApiKey]
    spent: dict[str, DayAndMonth]
    is_all: bool

    def told(self) -> dict[str, Any]:
        """What the gateways of the account's agents are told. A key for one agent may reach others, as its peers."""
        return {"all": self.is_all, "states": [told(key, self.spent.get(key.pk, NOTHING)) for key in self.keys]}


NONE = LimitedKeys([], {}, True)


def told(key: ApiKey, used: DayAndMonth) -> dict[str, Any]:
    """A key in the gateway's form."""
    limits = {"day": units(key.day_usd), "month": units(key.month_usd)}
    day, month = used
    return {
        "id": key.pk,
        "name": key.name,
        "limits": {name: value for name, value in limits.items() if value is not None},
        "spent": asdict(Spent(day=units(day) or 0, month=units(month) or 0)),
    }


def of_accounts(user_ids: Collection[str], *, now: datetime) -> dict[str, LimitedKeys]:
    """By account; those without limited keys are not there."""
    recent = now - LAST_TURNS
    rows = ApiKey.objects.filter(has_money(), keys.is_unexpired(recent), user__in=user_ids)
    rows = rows.filter(Q(revoked_at__isnull=True) | Q(revoked_at__gt=recent))
    found: dict[str, list[ApiKey]] = defaultdict(list)
    for key in rows.order_by(F("last_used_at").desc(nulls_last=True), "pk").defer("told", "digest"):
        found[key.user_id].append(key)
    newest = {user: some[:TOLD] for user, some in found.items()}
    ids = [key.pk for some in newest.values() for key in some]
    sums = spent.sums_of_keys(ids, today=now.date()) if ids else {}
    return {user: LimitedKeys(some, sums, len(found[user]) <= TOLD) for user, some in newest.items()}


def spent_by(key: ApiKey, *, now: datetime) -> DayAndMonth:
    """USD of today and of this month."""
    return spent.sums_of_keys([key.pk], today=now.date()).get(key.pk, NOTHING)


@transaction.atomic
def replace(user: User, key_id: str, *, day_usd: Decimal | None = None, month_usd: Decimal | None = None) -> ApiKey:
    """Set both limits at once; what is not given is no limit. Running pods take them with the next exchange of figures,
    and with the next turn of the key. Raises NoSuchKey, LimitWithoutOperate.
    """
    key = ApiKey.objects.select_for_update(no_key=True).get(pk=keys.own(user, key_id).pk)
    if day_usd is not None or month_usd is not None:
        keys.check_operates(key.scopes)
    key.day_usd, key.month_usd, key.told = day_usd, month_usd, {}
    key.save(update_fields=["day_usd", "month_usd", "told"])
    return key
