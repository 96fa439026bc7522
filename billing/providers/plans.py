"""How settings name a product's plan: a tier (`tiny`), or a tier and a period (`tiny:monthly`)."""

from __future__ import annotations

from dataclasses import dataclass

from billing.vocabulary import Period


@dataclass(frozen=True, slots=True)
class Plan:
    tier: str
    period: Period | None


def plan_named(name: str) -> Plan:
    tier, _, period = name.partition(":")
    return Plan(tier, Period(period) if period else None)
