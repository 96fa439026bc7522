"""The log of hosts: adds what gateways have counted, once, and shows it to the owner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.utils import timezone

from agents.egress.forgetting import KEPT
from agents.egress.models import Egress, EgressHost
from agents.models import Agent
from agents.runtimes.pod_egress import EgressBatch, VisitRow
from config import sql
from config.errors import BadRequest

MOST_OF_A_DAY = 500  # rows of one agent; further hosts are counted together
OTHERS = "*"
MOST_SHOWN = 1_000
_ADD = """
INSERT INTO agents_egresshost (agent_id, day, host, is_refused, count, sent, received)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (agent_id, day, host, is_refused)
DO UPDATE SET count = agents_egresshost.count + excluded.count, sent = agents_egresshost.sent + excluded.sent,
    received = agents_egresshost.received + excluded.received
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressLog:
    first: date
    last: date
    rows: list[EgressHost]
    has_more: bool


def add(agent: Agent, batch: EgressBatch) -> None:
    """Add the batch, unless it was added before."""
    with transaction.atomic():
        egress = Egress.objects.select_for_update().filter(agent=agent).defer("secrets").first()
        if egress is None:
            return
        if egress.is_walled != batch.is_walled:
            egress.is_walled = batch.is_walled
            egress.save(update_fields=["is_walled"])
        if egress.book == batch.book and batch.number <= egress.number:
            return
        egress.book, egress.number = batch.book, batch.number
        egress.save(update_fields=["book", "number"])
        _add_rows(agent, batch.rows)


def _add_rows(agent: Agent, rows: Iterable[VisitRow]) -> None:
    days: dict[date, list[VisitRow]] = defaultdict(list)
    for row in rows:
        days[row.day].append(row)
    for day, told in days.items():
        stored = EgressHost.objects.filter(agent=agent, day=day).values_list("host", "is_refused")
        known = set(stored[: MOST_OF_A_DAY + 2])
        for row in told:
            key = (row.host, row.is_refused)
            if key not in known and len(known) >= MOST_OF_A_DAY:
                key = (OTHERS, row.is_refused)
            known.add(key)
            sql.execute(_ADD, [agent.pk, day, *key, row.count, row.sent, row.received])


def shown(agent: Agent, *, first: date | None = None, last: date | None = None) -> EgressLog:
    """Without days: the last week, in UTC. The newest day comes first, in it the hosts that were asked most."""
    last = last or timezone.now().date()
    first = first or date.fromordinal(max(1, last.toordinal() - 6))
    if first > last:
        raise BadRequest(f"from: {first} is after to, {last}")
    if last - first > KEPT:
        raise BadRequest(f"from: at most {KEPT.days} days before to, {last}; got {first}")
    found = EgressHost.objects.filter(agent=agent, day__gte=first, day__lte=last)
    rows = list(found.order_by("-day", "-count", "host", "is_refused")[: MOST_SHOWN + 1])
    return EgressLog(first=first, last=last, rows=rows[:MOST_SHOWN], has_more=len(rows) > MOST_SHOWN)
