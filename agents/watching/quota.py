"""STATE MACHINE of an agent's quota: ok, warn, grace, paused. One measurement a minute drives it.

`step` is the machine: a pure function of the state before, one measurement and the time. It reads a window of the last
five measurements, each stored as one letter in the row. The window keeps the status from changing with every
measurement.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection, transaction

from agents import timeline
from agents.models import Agent, AgentQuota, Desired, QuotaStatus, Reason
from catalog.models import Tier
from config import states

GRACE_PERIOD = timedelta(minutes=60)
STALE_AFTER = timedelta(minutes=5)
ACTOR = "quota"

# A measurement as a letter, by p = max(memoryPct, diskPct) as a fraction.
LOW, MIDDLE, HIGH, FULL = "l", "m", "h", "f"
BANDS = ((0.95, FULL), (0.85, HIGH), (0.80, MIDDLE))
WINDOW = 5

# from: (to, letters, how many in a row); the first rule that holds is taken. Only time leads from grace to paused.
RULES: dict[QuotaStatus, tuple[tuple[QuotaStatus, str, int], ...]] = {
    QuotaStatus.OK: ((QuotaStatus.GRACE, FULL, 5), (QuotaStatus.WARN, HIGH + FULL, 3)),
    QuotaStatus.WARN: ((QuotaStatus.GRACE, FULL, 5), (QuotaStatus.OK, LOW, 5)),
    QuotaStatus.GRACE: ((QuotaStatus.WARN, LOW + MIDDLE + HIGH, 5),),
    QuotaStatus.PAUSED: (),
}
# What these rules, the end of grace and a fresh start lead to; ok starts afresh when the tier grows.
TRANSITIONS: dict[QuotaStatus, set[QuotaStatus]] = {
    QuotaStatus.OK: {QuotaStatus.OK, QuotaStatus.WARN, QuotaStatus.GRACE},
    QuotaStatus.WARN: {QuotaStatus.OK, QuotaStatus.GRACE},
    QuotaStatus.GRACE: {QuotaStatus.OK, QuotaStatus.WARN, QuotaStatus.PAUSED},
    QuotaStatus.PAUSED: {QuotaStatus.OK},
}
# Status and newest letter of agents that may move now, by a rule or by time. All others are not looked at.
MAY_MOVE = frozenset(
    {status + letter for status, rules in RULES.items() for _, letters, _ in rules for letter in letters}
    | {QuotaStatus.GRACE + letter for letter in LOW + MIDDLE + HIGH + FULL}
)


class QuotaState(NamedTuple):
    status: QuotaStatus
    recent: str  # letters of the last measurements, the newest last
    since: datetime  # only used in grace


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    agent_id: str
    was: QuotaState
    to: QuotaStatus
    why: str


def step(was: QuotaState, *, pct: float, now: datetime) -> QuotaState:
    """The state after one more measurement. A measurement never ends `paused`."""
    if was.status == QuotaStatus.PAUSED:
        return was
    recent = (was.recent + band_of(pct))[-WINDOW:]
    status = _by_rule(was.status, recent)
    if status == QuotaStatus.GRACE == was.status and now - was.since >= GRACE_PERIOD:
        status = QuotaStatus.PAUSED
    return QuotaState(status, recent, was.since if status == was.status else now)


def band_of(pct: float) -> str:
    return next((band for least, band in BANDS if pct >= least), LOW)


def band_sql(pct: str) -> str:
    """`band_of` as SQL. `pct` is an expression of type float8; null gives null."""
    borders, letters = zip(*reversed(BANDS), strict=True)
    return f"substr('{LOW}{''.join(letters)}', 1 + width_bucket({pct}, ARRAY{list(borders)}::float8[]), 1)"


@functools.cache
def _by_rule(status: QuotaStatus, recent: str) -> QuotaStatus:
    for to, letters, count in RULES[status]:
        if len(recent) >= count and all(letter in letters for letter in recent[-count:]):
            return to
    return status


def ends_at(quota: AgentQuota) -> datetime | None:
    """When the pod is stopped unless it uses less; None outside of grace."""
    return quota.since + GRACE_PERIOD if quota.status == QuotaStatus.GRACE else None


def measured(quota: AgentQuota) -> list[str]:
    """The snapshot as text, one line for memory and one for disk."""
    return [
        _words("memory", quota.memory_used_bytes, quota.memory_limit_bytes),
        _words("disk", quota.disk_used_bytes, quota.disk_total_bytes),
    ]


def _words(name: str, used: int | None, of: int | None) -> str:
    return f"{name}: unknown" if used is None or not of else f"{name}: {used >> 20} of {of >> 20} MiB ({used / of:.0%})"


@transaction.atomic
def move(moves: Sequence[Move], *, now: datetime) -> set[str]:
    """Write these moves with their timeline rows. Agents that were stopped or reset in the meantime are left out.

    Agents are locked before their quotas, as everywhere, and in one order. Returns the ids of the agents that moved.
    """
    wanted = {change.agent_id: change for change in moves}
    locked = Agent.objects.locked().filter(pk__in=list(wanted), desired=Desired.RUNNING)
    agents = {agent.pk: agent for agent in locked.only("pk", "status").order_by("pk")}
    moved = _written([wanted[agent_id] for agent_id in agents], now)
    notes = [(agents[agent_id], _words_of(wanted[agent_id])) for agent_id in agents if agent_id in moved]
    timeline.note_each(notes, reason=Reason.QUOTA, actor=ACTOR, now=now)
    return moved


def _written(moves: list[Move], now: datetime, *, recent: str | None = None) -> set[str]:
    """The only function that assigns a status, and with `recent` another window."""
    for change in moves:
        states.check(TRANSITIONS, change.was.status, change.to, of=change.agent_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agents_agentquota q SET status = m.to_status, since = %s, recent = coalesce(%s, q.recent)"
            " FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[]) AS m(agent_id, was, to_status, since)"
            " WHERE q.agent_id = m.agent_id AND q.status = m.was AND (m.was = 'ok' OR q.since = m.since)"
            " RETURNING q.agent_id",
            [
                now,
                recent,
                [change.agent_id for change in moves],
                [change.was.status.value for change in moves],
                [change.to.value for change in moves],
                [change.was.since for change in moves],
            ],
        )
        return {agent_id for (agent_id,) in cursor.fetchall()}


def _words_of(change: Move) -> str:
    return f"quota {change.was.status} to {change.to}: {change.why}"


def start_afresh(agent: Agent, *, actor: str, now: datetime) -> None:
    """Go back to `ok` and forget the measurements: after a stop, or with a larger tier. The caller holds the agent's
    lock."""
    snapshot = AgentQuota.objects.filter(pk=agent.pk).only("status", "recent", "since").first()
    if snapshot is None:
        return
    was = QuotaState(QuotaStatus(snapshot.status), snapshot.recent, snapshot.since)
    if was.status != QuotaStatus.OK:
        timeline.note(agent, f"quota {was.status} to ok", reason=Reason.QUOTA, actor=actor, now=now)
    _written([Move(agent_id=agent.pk, was=was, to=QuotaStatus.OK, why="")], now, recent="")


def is_larger(tier: Tier, *, than: Tier) -> bool:
    """Whether `tier` has more memory or more disk than `than`, and less of neither."""
    sizes = (tier.memory_bytes, tier.disk_bytes), (than.memory_bytes, than.disk_bytes)
    return sizes[0] != sizes[1] and all(new >= old for new, old in zip(*sizes, strict=True))
