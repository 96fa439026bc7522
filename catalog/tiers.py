"""Tiers: which exist and which are offered."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from catalog import snapshot
from catalog.models import Tier
from config.errors import BadRequest
from config.operator_settings import operator_settings


class UnknownTier(BadRequest):
    def __init__(self, tier_id: str, field: str) -> None:
        allowed = ", ".join(snapshot.offered(snapshot.current().tiers))
        super().__init__(f"{field}: {tier_id!r} is not a tier; allowed: {allowed}; GET /tiers tells more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How long a new agent is free, and what happens after that."""

    days: int
    grace_days: int
    kept_days: int
    notice_days: list[int]
    max_free_agents: int


def trial() -> Trial:
    return Trial(
        days=operator_settings.TRIAL_DAYS,
        grace_days=operator_settings.GRACE_DAYS,
        kept_days=operator_settings.KEPT_DAYS,
        notice_days=settings.NOTICE_DAYS,
        max_free_agents=operator_settings.MAX_FREE_AGENTS,
    )


def offered() -> list[Tier]:
    return list(snapshot.offered(snapshot.current().tiers).values())


def known_tier(tier_id: str, field: str = "tier") -> Tier:
    """The offered tier of this id. Raises UnknownTier."""
    tier = snapshot.current().tiers.get(tier_id)
    if tier is None or not tier.offered:
        raise UnknownTier(tier_id, field)
    return tier


def tier_of(tier_id: str) -> Tier:
    """The tier that an agent was created with, even if it is no longer offered."""
    return snapshot.current().tiers[tier_id]
