"""The cost class of a model, from its prices."""

from __future__ import annotations

from decimal import Decimal

from catalog.vocabulary import CostTier

INPUT_SHARE = 3  # a turn has about three times as many input tokens as output tokens
MID_FROM_USD = Decimal(1)
PREMIUM_FROM_USD = Decimal(6)


def blended_usd(input_usd: Decimal, output_usd: Decimal) -> Decimal:
    """One price in USD per 1M tokens, from the input and output prices in USD per 1M tokens."""
    return (INPUT_SHARE * input_usd + output_usd) / (INPUT_SHARE + 1)


def cost_tier(input_usd: Decimal, output_usd: Decimal) -> CostTier:
    blended = blended_usd(input_usd, output_usd)
    if blended < MID_FROM_USD:
        return CostTier.CHEAP
    return CostTier.MID if blended < PREMIUM_FROM_USD else CostTier.PREMIUM
