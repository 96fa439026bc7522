"""The settings of stablecoins, checked. If a part is missing or wrong, stablecoins are off."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from functools import lru_cache

from django.conf import settings

from billing.providers.crypto import abi, addresses
from billing.providers.crypto.addresses import XpubAccount
from billing.providers.crypto.errors import Misconfigured
from billing.vocabulary import Asset
from config.operator_settings import operator_settings
from config.operator_settings.values import values

log = logging.getLogger(__name__)

FINALIZED = "finalized"  # the node's own tag for blocks that can never change
_CONFIRMATION = re.compile(rf"{FINALIZED}|safe|depth:([1-9]\d{{0,5}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    asset: Asset
    address: str
    decimals: int
    symbol: str


# The tokens that the issuers or the chains' own bridges publish. Bridged tokens with similar names are other tokens.
KNOWN: dict[int, dict[str, str]] = {
    1: {
        "usdc": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48:6:USDC",
        "usdt": "0xdAC17F958D2ee523a2206206994597C13D831ec7:6:USDT",
    },
    8453: {"usdc": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913:6:USDC"},
    42161: {"usdc": "0xaf88d065e77c8cC2239327C5EDb3A432268e5831:6:USDC"},
    137: {"usdc": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359:6:USDC"},
    56: {
        "usdc": "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d:18:USDC",
        "usdt": "0x55d398326f99059fF775485246999027B3197955:18:USDT",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    urls: tuple[str, ...]
    chain_id: int
    account: XpubAccount
    tokens: dict[Asset, Token]
    confirmation: str
    batch: int
    log_range: int
    # by address: tokens that are no longer sold but still watched
    formerly: dict[str, Asset] = field(default_factory=dict)

    @property
    def sold(self) -> list[str]:
        """The addresses of the tokens that can pay an order."""
        return [token.address for token in self.tokens.values()]

    @property
    def assets(self) -> dict[str, Asset]:
        """By address: the coin of each token, also of former tokens."""
        return {**self.formerly, **{token.address: token.asset for token in self.tokens.values()}}

    @property
    def depth(self) -> int | None:
        """How many blocks must follow before a block counts as final. None if the chain itself says what is final."""
        return int(self.confirmation.removeprefix("depth:")) if self.confirmation.startswith("depth:") else None


def load() -> None:
    """Import the libraries of stablecoins if the environment sets these up, and log errors in its settings."""
    with values.unread():
        if known := current():
            abi.word_of(known.account.address(0))


def current() -> Configuration | None:
    """The settings, or None if stablecoins are not set up or the settings have an error (which is logged)."""
    if not operator_settings.CRYPTO_RPC_URLS and not settings.CRYPTO_XPUB:
        return None
    given = (
        tuple(dict.fromkeys(operator_settings.CRYPTO_RPC_URLS)),  # a URL that is listed twice counts once
        settings.CRYPTO_CHAIN_ID,
        settings.CRYPTO_XPUB,
        settings.CRYPTO_FIRST_ADDRESS,
        tuple(sorted(settings.CRYPTO_TOKENS.items())),
        settings.CRYPTO_CONFIRMATION,
        settings.CRYPTO_RPC_BATCH,
        settings.CRYPTO_LOG_RANGE,
    )
    return _checked(*given)


def decimals(asset: str) -> int | None:
    """The decimals of a coin in the settings, even if it is not sold. None if they do not name it."""
    try:
        known = _tokens(settings.CRYPTO_TOKENS or KNOWN.get(settings.CRYPTO_CHAIN_ID, {}))
    except Misconfigured:
        return None
    token = known.get(Asset(asset))
    return token.decimals if token else None


@lru_cache(maxsize=8)
def _checked(
    urls: tuple[str, ...],
    chain_id: int,
    xpub: str,
    first_address: str,
    tokens: tuple[tuple[str, str], ...],
    confirmation: str,
    batch: int,
    log_range: int,
) -> Configuration | None:
    try:
        _check_words(urls, confirmation)
        configuration = Configuration(
            urls=urls,
            chain_id=chain_id,
            account=addresses.account(xpub, first_address),
            tokens=_tokens(dict(tokens) or KNOWN.get(chain_id, {})),
            confirmation=confirmation,
            batch=batch,
            log_range=log_range,
        )
    except Misconfigured as error:
        log.critical("stablecoins are off: %s", error)
        return None
    log.info("stablecoins on chain %s; the first deposit address is %s", chain_id, configuration.account.address(0))
    return configuration


def _check_words(urls: tuple[str, ...], confirmation: str) -> None:
    if not urls:
        raise Misconfigured("CRYPTO_RPC_URLS: give at least one")
    if not _CONFIRMATION.fullmatch(confirmation):
        raise Misconfigured("CRYPTO_CONFIRMATION: must be finalized, safe or depth:N")


def _tokens(given: dict[str, str]) -> dict[Asset, Token]:
    if not given:
        raise Misconfigured("CRYPTO_TOKENS: name the tokens of this chain, as usdc=<address>:<decimals>:<symbol>")
    return {token.asset: token for token in (_token(name, text) for name, text in given.items())}


def _token(name: str, text: str) -> Token:
    parts = text.split(":")
    if name not in Asset or len(parts) != 3 or not abi.is_address(parts[0]) or not parts[1].isdecimal():
        raise Misconfigured(f"CRYPTO_TOKENS: {name}={text} must look like usdc=<address>:<decimals>:<symbol>")
    return Token(asset=Asset(name), address=abi.checksummed(parts[0]), decimals=int(parts[1]), symbol=parts[2].strip())
