"""Prices of models, from the catalog."""

from __future__ import annotations

from decimal import Decimal

from agents.pod.gateway.spending.calls import Price
from agents.pod.gateway.spending.limits import UNITS_A_USD
from catalog import snapshot
from catalog.models import LlmModel
from catalog.vocabulary import ProviderId

# The catalog's prices are for so many tokens.
TOKENS_PRICED = 1_000_000
# What a token costs that is read from the vendor's cache, or written to it for five minutes, as a part of the price of
# other tokens of the request. Only vendors with one rule for all their models are here. With others, cached tokens cost
# as much as the rest, so their figures are too high rather than too low.
# Anthropic: platform.claude.com, prompt caching.
_CACHE = {ProviderId.ANTHROPIC.value: (Decimal("0.1"), Decimal("1.25"))}


def of(model_id: str) -> Price | None:
    """What a token of this model costs; None if the catalog does not say it. Models that are no longer offered count
    too.
    """
    model = snapshot.current().llm_models.get(model_id)
    return _price(model) if model else None


def of_provider(provider: str) -> dict[str, Price]:
    """The prices of all models of this provider, by id."""
    models = snapshot.current().llm_models.values()
    return {model.id: _price(model) for model in models if model.provider == provider}


def _price(model: LlmModel) -> Price:
    given = _units(model.input_usd)
    cached, written = _CACHE.get(model.provider, (Decimal(1), Decimal(1)))
    output = _units(model.output_usd)
    return Price(input=given, cached=int(given * cached), written=int(given * written), output=output)


def _units(usd: Decimal) -> int:
    return int(usd * UNITS_A_USD / TOKENS_PRICED)
