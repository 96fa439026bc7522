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

# Rows of one agent and day; further hosts are counted together. Refused ones have places of their own: an engine
# may make up as many names as it likes.
MOST_ALLOWED, MOST_REFUSED = 500, 200
OTHERS, UNREADABLE = "*", "?"  # names of rows, as gateways have them too
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
        stored = EgressHost.objects.filter(agent=agent, day=day).values_list("is_refused", "host")
        known: dict[bool, set[str]] = {False: set(), True: set()}
        for is_refused, host in stored[: MOST_ALLOWED + MOST_REFUSED + 2]:
            known[is_refused].add(host)
        for row in told:
            host = _counted_as(row, known[row.is_refused])
            known[row.is_refused].add(host)
            sql.execute(_ADD, [agent.pk, day, host, row.is_refused, row.count, row.sent, row.received])


def _counted_as(row: VisitRow, known: set[str]) -> str:
    """The host, or OTHERS for a new one if the day has no room for it."""
    is_full = len(known - {OTHERS}) >= (MOST_REFUSED if row.is_refused else MOST_ALLOWED)
    return OTHERS if row.host not in known and is_full else row.host


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
