"""Engines: which exist, which are offered, and which tier an engine needs."""

from __future__ import annotations

from django.conf import settings

from catalog import licences, snapshot
from catalog.models import Engine, Tier
from catalog.vocabulary import TierId
from config.errors import BadRequest


class UnknownEngine(BadRequest):
    def __init__(self, engine_id: str, field: str) -> None:
        allowed = ", ".join(engine.id for engine in offered())
        super().__init__(f"{field}: {engine_id!r} is not an engine; allowed: {allowed}; GET /engines tells more")


class EngineBelowMinTier(BadRequest):
    def __init__(self, engine: Engine, tier: Tier) -> None:
        enough = TierId.values[TierId.values.index(engine.min_tier) :]
        super().__init__(f"tier: {tier.id} is too small for {engine.label}; allowed: {', '.join(enough)}")


def offered() -> list[Engine]:
    """The engines that agents can be created with."""
    return [engine for engine in snapshot.current().engines.values() if is_offered(engine)]


def is_offered(engine: Engine) -> bool:
    """Whether new agents can use the engine: the catalog has it, our pods can run it, and its licence is cleared."""
    return engine.offered and can_run(engine.id) and licences.is_cleared(engine.id)


def can_run(engine_id: str) -> bool:
    """Whether our pods can run the engine. In clusters an engine needs an image (ENGINE_IMAGES)."""
    return settings.AGENT_RUNTIME != "kubernetes" or engine_id in settings.ENGINE_IMAGES


def known_engine(engine_id: str, field: str = "engine") -> Engine:
    """The offered engine of this id. Raises UnknownEngine."""
    engine = snapshot.current().engines.get(engine_id)
    if engine is None or not is_offered(engine):
        raise UnknownEngine(engine_id, field)
    return engine


def engine_of(engine_id: str) -> Engine:
    """The engine that an agent was created with, even if it is no longer offered."""
    return snapshot.current().engines[engine_id]


def fits(engine: Engine, tier: Tier) -> bool:
    """Whether the tier is not below the engine's `minTier`."""
    return tier.rank >= TierId.values.index(engine.min_tier)


def check_tier(engine: Engine, tier: Tier) -> None:
    """Raise EngineBelowMinTier if the tier is below the engine's `minTier`."""
    if not fits(engine, tier):
        raise EngineBelowMinTier(engine, tier)
