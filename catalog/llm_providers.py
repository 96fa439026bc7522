"""LLM providers: which are offered, and which an engine accepts."""

from __future__ import annotations

from catalog import engines, snapshot
from catalog.models import Engine, LlmProvider
from config.errors import BadRequest


class UnknownProvider(BadRequest):
    def __init__(self, provider_id: str, field: str) -> None:
        allowed = ", ".join(provider.id for provider in offered())
        super().__init__(f"{field}: {provider_id!r} is not an LLM provider; allowed: {allowed}")


class EngineRefusesProvider(BadRequest):
    def __init__(self, engine: Engine, provider: LlmProvider, field: str) -> None:
        allowed = ", ".join(accepted.id for accepted in offered(engine)) or "none, it takes no model key"
        super().__init__(f"{field}: {engine.label} cannot use {provider.id}; allowed: {allowed}")


def known_provider(provider_id: str, field: str = "llmProvider") -> LlmProvider:
    """The offered provider of this id. Raises UnknownProvider."""
    provider = snapshot.current().llm_providers.get(provider_id)
    if provider is None or provider not in offered():
        raise UnknownProvider(provider_id, field)
    return provider


def offered(engine: Engine | None = None) -> list[LlmProvider]:
    """The offered providers whose keys this engine accepts; without an engine, those that any
    offered engine accepts.
    """
    providers = snapshot.offered(snapshot.current().llm_providers).values()
    accepted = [one.accepted_providers for one in ([engine] if engine else engines.offered())]
    return [provider for provider in providers if any(ids is None or provider.id in ids for ids in accepted)]


def check_engine(provider: LlmProvider, *, engine: Engine, field: str = "llmProvider") -> None:
    """Raise EngineRefusesProvider if the engine cannot use the provider's keys."""
    if provider.id not in {accepted.id for accepted in offered(engine)}:
        raise EngineRefusesProvider(engine, provider, field)
