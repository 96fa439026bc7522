"""What pods are told with each exchange: limits, what was spent, prices, and which batch has arrived."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from agents.models import Agent, Egress, Spending
from agents.spending import account_limits, key_limits, narrowing, prices, spent
from agents.spending.models import SpendingBook


def of(agents: Sequence[Agent], *, now: datetime) -> dict[str, Mapping[str, Any]]:
    """The news of each of these agents, by id, with the same number of queries for any number of them."""
    ids = [agent.pk for agent in agents]
    # The batches are read before what was spent. Figures that are added in between are counted twice for half a
    # minute; in the other order they would be missing.
    newest = SpendingBook.objects.filter(agent__in=ids).order_by("agent_id", "-read_at", "-pk").distinct("agent_id")
    books = {book.agent_id: book for book in newest}
    limits = Spending.objects.in_bulk(ids)
    known = {name: _prices(name) for name in {agent.llm_provider for agent in agents} if name}
    so_far = spent.so_far(agents, today=now.date())
    # After what each agent spent: figures that are added in between leave the account less, not more.
    accounts = account_limits.states({agent.user_id for agent in agents}, today=now.date())
    limited = key_limits.of_accounts({agent.user_id for agent in agents}, now=now)
    logs = {egress.pk: _told_of_egress(egress) for egress in _egress(ids)}
    found: dict[str, Mapping[str, Any]] = {}
    for agent in agents:
        book, own = books.get(agent.pk), limits.get(agent.pk)
        found[agent.pk] = {
            "book": book.name if book else "",
            "ack": book.number if book else 0,
            "now": now.timestamp(),
            "revision": agent.spec_revision,
            "limits": narrowing.narrowed(own.limits() if own else {}, accounts.get(agent.user_id), so_far[agent.pk]),
            "day": now.date().isoformat(),
            "spent": asdict(so_far[agent.pk]),
            "prices": known.get(agent.llm_provider or "", {}),
            "keys": limited.get(agent.user_id, key_limits.NONE).told(),
            "replay": own.is_replayed if own else True,
            "egress": logs.get(agent.pk) or _told_of_egress(Egress()),
        }
    return found


def _egress(ids: Collection[str]) -> Iterable[Egress]:
    return Egress.objects.filter(agent__in=ids).only("book", "number", "is_walled")


def _told_of_egress(egress: Egress) -> dict[str, Any]:
    return {"book": egress.book, "ack": egress.number, "walled": egress.is_walled}


def _prices(provider: str) -> dict[str, dict[str, int]]:
    return {name: asdict(price) for name, price in prices.of_provider(provider).items()}
