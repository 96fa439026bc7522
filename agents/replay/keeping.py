"""Stores what a pod's gateway hands over, and forgets what is too old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db.models import Count, F
from django.db.models.functions import TruncDate

from agents.models import Agent, Spending
from agents.pod.gateway.replay.entries import EntryKind
from agents.pod.gateway.replay.unsent import MOST_A_DAY
from agents.pod.gateway.spending.limits import UNITS_A_USD
from agents.replay.models import ReplayEntry
from agents.runtimes.pod_replay import RecordedEntry, ReplayBatch
from agents.spending import prices
from config import sql

KEPT = timedelta(days=30)
FORGOTTEN_AT_ONCE = 20_000
MOST_COUNTED = 2**31 - 1
TEXTS = ("asked", "answered", "arguments", "error")
_FORGET = """
DELETE FROM agents_replayentry
WHERE id IN (SELECT id FROM agents_replayentry WHERE created_at < %s ORDER BY created_at LIMIT %s)
"""


def keep(asked: Agent, batch: ReplayBatch, *, now: datetime) -> None:
    """Store the entries of a new batch. Needs the transaction that stores the batch's number, so each is stored once.

    The agent is the one whose pod was asked, whatever the batch says. The owner may switch the replay off or delete it
    at the same time. The lock puts one after the other: nothing older than the deletion is stored.
    """
    if not batch.entries and not batch.not_kept:
        return
    agent = Agent.objects.live().locked().only("id").filter(pk=asked.pk).first()
    if agent is None:
        return
    settings = Spending.objects.filter(pk=agent.pk).first() or Spending(agent=agent)
    if not settings.is_replayed:
        return
    # Nothing has happened later than now, whatever the clock of the pod's machine says.
    found = [replace(entry, at=min(entry.at, now)) for entry in batch.entries]
    fresh = [entry for entry in found if entry.at > max(now - KEPT, settings.replay_cleared_at(entry.session))]
    kept, not_kept = _with_room(agent, fresh)
    ReplayEntry.objects.bulk_create([_row(agent, entry) for entry in kept])
    oldest = max(now - KEPT, settings.replay_cleared_at("")).date()
    told = {day: count for day, count in batch.not_kept.items() if oldest <= day <= now.date()}
    for day, count in sorted((Counter(told) + not_kept).items()):
        _count(agent, day, count, now=now)


def _with_room(agent: Agent, entries: Sequence[RecordedEntry]) -> tuple[list[RecordedEntry], Counter[date]]:
    """Those that their day still has room for, and how many others there are. The gateway keeps the same limit."""
    days = sorted({entry.day for entry in entries})
    if not days:
        return [], Counter()
    begin = datetime.combine(days[0], time(), UTC)
    rows = ReplayEntry.objects.filter(agent=agent, created_at__gte=begin)
    counts = rows.annotate(day=TruncDate("created_at", tzinfo=UTC)).values_list("day").annotate(Count("pk")).order_by()
    taken: Counter[date] = Counter(dict(counts))
    kept, not_kept = [], Counter[date]()
    for entry in entries:
        if taken[entry.day] < MOST_A_DAY:
            taken[entry.day] += 1
            kept.append(entry)
        else:
            not_kept[entry.day] += 1
    return kept, not_kept


def _count(agent: Agent, day: date, count: int, *, now: datetime) -> None:
    """Add to the day's row that says how many were not kept."""
    begin = datetime.combine(day, time(), UTC)
    row = ReplayEntry.objects.filter(
        agent=agent, kind=EntryKind.NOT_KEPT, created_at__gte=begin, created_at__lt=begin + timedelta(days=1)
    )
    count = min(count, MOST_COUNTED)
    if not row.filter(count__lte=MOST_COUNTED - count).update(count=F("count") + count) and not row.exists():
        at = min(now, begin + timedelta(days=1, microseconds=-1))
        ReplayEntry.objects.create(agent=agent, kind=EntryKind.NOT_KEPT, created_at=at, count=count)


def _row(agent: Agent, entry: RecordedEntry) -> ReplayEntry:
    texts = {name: text for name in TEXTS if (text := getattr(entry, name))}
    tokens = entry.tokens
    return ReplayEntry(
        agent=agent,
        created_at=entry.at,
        kind=entry.kind,
        door=entry.door,
        session=entry.session,
        turn=entry.turn,
        model=entry.model,
        input=tokens.input if tokens else None,
        cached=tokens.cached if tokens else None,
        output=tokens.output if tokens else None,
        is_estimated=entry.is_estimated,
        usd=_usd(entry),
        ms=entry.ms,
        hop=entry.hop,
        cause=entry.cause,
        tool=entry.tool,
        texts=texts or None,
    )


def _usd(entry: RecordedEntry) -> Decimal | None:
    """By the catalog's prices, as `usage` has it; None without a price."""
    price = prices.of(entry.model) if entry.tokens else None
    return Decimal(price.cost(entry.tokens)) / UNITS_A_USD if price and entry.tokens else None


def forget(*, now: datetime) -> None:
    """Delete what is too old, in parts: each statement is a transaction of its own."""
    while sql.execute(_FORGET, [now - KEPT, FORGOTTEN_AT_ONCE]) == FORGOTTEN_AT_ONCE:
        pass
