"""The ledger as the owner of an agent reads it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from agents.models import Agent
from billing.models import Payment
from config.errors import BadRequest
from config.ids import is_id

ON_A_PAGE = 20


@dataclass(frozen=True, slots=True)
class Page:
    payments: list[Payment]
    cursor: str | None  # of the next page


class BadCursor(BadRequest):
    def __init__(self) -> None:
        super().__init__("payments: not a page that this list has")


def page(agent: Agent, *, after: str | None = None, limit: int = ON_A_PAGE) -> Page:
    """What was paid for the agent, newest first, each with order, invoice and decision. Raises BadCursor."""
    rows = Payment.objects.filter(agent=agent).select_related("order__cryptoorder", "decision", "invoice")
    if after is not None:
        last = rows.filter(pk=after).first() if is_id("pay", after) else None
        if last is None:
            raise BadCursor
        rows = rows.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))
    found = list(rows.order_by("-at", "-id")[: limit + 1])
    return Page(found[:limit], found[limit - 1].pk if len(found) > limit else None)
