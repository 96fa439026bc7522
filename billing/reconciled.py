"""What a provider paid out, set beside the ledger. Nothing is stored: the provider is asked anew each time.

A provider's module `reconciling` says it (`reconciled(now=…)`): Stripe's payouts, and sweeps of coins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from billing.providers import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A difference between provider and ledger, open since a moment: the last one at which both could agree."""

    name: str
    since: datetime
    amount: str
    why: str
    payment_id: str = ""


@dataclass(slots=True, kw_only=True)
class Reconciled:
    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    differences: list[Disagreement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was not compared, and why


def read(*, now: datetime) -> Iterator[Reconciled]:
    """One for each provider that is set up and can be asked. The oldest differences first."""
    for part in registry.parts("reconciling"):
        found = part.reconciled(now=now)
        if found is not None:
            found.differences.sort(key=lambda one: one.since)
            yield found
