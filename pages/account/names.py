"""Names on the pages: ways to pay, plans, chains, lengths of time."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import ngettext

from billing.providers.page import page_of
from catalog.tiers import tier_of
from pages import words

CHAINS = {
    1: "Ethereum",
    10: "OP Mainnet",
    56: "BNB Smart Chain",
    137: "Polygon PoS",
    8453: "Base",
    42161: "Arbitrum One",
    84532: "Base Sepolia",
    11155111: "Sepolia",
}


def plan_name(tier_id: str) -> str:
    return words.translated(tier_of(tier_id).name).text


def way_name(provider: str) -> str:
    """The usual name of a way to pay. Empty for what operators grant."""
    page = page_of(provider)
    return page.name if page else ""


def chain_name(chain_id: int) -> str:
    """The chain's name as wallets show it, if it has a common one."""
    return CHAINS.get(chain_id, f"EVM {chain_id}")


def span(length: timedelta) -> str:
    """Whole days. Less than a day: whole hours."""
    if length.days:
        return ngettext("%(count)d day", "%(count)d days", length.days) % {"count": length.days}
    hours = length.seconds // 3600
    return ngettext("%(count)d hour", "%(count)d hours", hours) % {"count": hours}
