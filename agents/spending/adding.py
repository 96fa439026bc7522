"""Adds a batch of a gateway's figures to the rows of the agent, once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts.models import ApiKey
from agents.models import Agent
from agents.pod.gateway.spending.limits import UNITS_A_USD
from agents.pod.gateway.spending.tokens import Tokens
from agents.replay import keeping
from agents.runtimes.pod_spending import COUNTS, CountedRow, KeyCountedRow, SpendingBatch
from agents.spending import bounding, prices
from agents.spending.models import SpendingBook
from config import sql

_SUMS = (*COUNTS, "unpriced", "usd")
_ADD = f"""
INSERT INTO agents_modelusage (agent_id, day, model, kind, session, {", ".join(_SUMS)})
VALUES (%(agent)s, %(day)s, %(model)s, %(kind)s, %(session)s, {", ".join(f"%({name})s" for name in _SUMS)})
ON CONFLICT (agent_id, day, model, kind, session)
DO UPDATE SET {", ".join(f"{name} = agents_modelusage.{name} + excluded.{name}" for name in _SUMS)}
"""  # noqa: S608 # names of our own columns
_ADD_BY_KEY = f"""
INSERT INTO agents_keyusage (api_key_id, agent_id, day, {", ".join(_SUMS)})
VALUES (%(api_key)s, %(agent)s, %(day)s, {", ".join(f"%({name})s" for name in _SUMS)})
ON CONFLICT (api_key_id, day, agent_id)
DO UPDATE SET {", ".join(f"{name} = agents_keyusage.{name} + excluded.{name}" for name in _SUMS)}
"""  # noqa: S608 # names of our own columns
_ADD_DAY = """
INSERT INTO agents_spentday (agent_id, day, usd) VALUES (%s, %s, %s)
ON CONFLICT (agent_id, day) DO UPDATE SET usd = agents_spentday.usd + excluded.usd
"""


@transaction.atomic
def add(agent: Agent, batch: SpendingBatch, *, now: datetime) -> bool:
    """Add the batch, unless it was added before. Returns whether it was added."""
    _, made = SpendingBook.objects.get_or_create(agent=agent, name=batch.book, defaults={"number": 0, "read_at": now})
    if made:
        bounding.forget_books(agent)
    book = SpendingBook.objects.select_for_update().get(agent=agent, name=batch.book)
    is_new = batch.number > book.number
    book.number, book.read_at = max(book.number, batch.number), now
    book.save(update_fields=["number", "read_at"])
    if is_new:
        _add_rows(agent, batch.rows, now=now)
        _add_key_rows(agent, batch.key_rows, now=now)
        keeping.keep(agent, batch.replay, now=now)
    return is_new


def _add_rows(agent: Agent, rows: Iterable[CountedRow], *, now: datetime) -> None:
    """In the order of the keys, so that two workers never wait for each other."""
    days: dict[date, Decimal] = defaultdict(Decimal)
    named = bounding.counted_as(agent, rows, now=now)
    for row in sorted(named, key=lambda row: (row.day, row.model, row.kind, row.session)):
        sums = _priced(row)
        days[row.day] += sums["usd"]
        key = {"agent": agent.pk, "day": row.day, "model": row.model, "kind": row.kind, "session": row.session}
        sql.execute(_ADD, {**key, **sums})
    for day, usd in sorted(days.items()):
        sql.execute(_ADD_DAY, [agent.pk, day, usd])


def _add_key_rows(agent: Agent, rows: Collection[KeyCountedRow], *, now: datetime) -> None:
    """Keys of other accounts are left out, and those that are gone: a pod may say anything."""
    if not rows:
        return
    own = ApiKey.objects.filter(user=agent.user_id, pk__in={row.api_key for row in rows})
    known = set(own.values_list("pk", flat=True))
    for row in sorted(rows, key=lambda row: (row.api_key, row.day, row.model)):
        if row.api_key in known:
            key = {"api_key": row.api_key, "agent": agent.pk, "day": bounding.day_of(row.day, now=now)}
            sql.execute(_ADD_BY_KEY, {**key, **_priced(row)})


def _priced(row: CountedRow | KeyCountedRow) -> dict[str, Any]:
    """The values of _SUMS."""
    usd = _usd(row)
    unpriced = row.counts["calls"] - row.counts["failed"] if usd is None else 0
    return {**{name: row.counts[name] for name in COUNTS}, "unpriced": unpriced, "usd": usd or Decimal(0)}


def _usd(row: CountedRow | KeyCountedRow) -> Decimal | None:
    """What these calls cost; None for a model without a price."""
    price = prices.of(row.model)
    if price is None:
        return None
    return Decimal(price.cost(Tokens(**{name: row.counts[name] for name in Tokens.__slots__}))) / UNITS_A_USD
