"""Money at a deposit address that cannot pay: found, and shown to operators, who may send it back.

This covers tokens that people confuse with the right ones, the chain's own coin, and the same tokens on other chains,
where the address has the same key. Only tokens known by name are looked for: anybody can make a fake token.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from billing.models import CryptoOrder, DepositAddress, Misplaced
from billing.providers.crypto import abi, chain, configuration, rpc, tokens
from billing.providers.crypto.configuration import KNOWN, Configuration
from billing.providers.crypto.errors import EndpointFailed, Unknown
from billing.providers.crypto.rpc import Call, Node, NodeError
from billing.providers.crypto.settling import LATE
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

AT_ONCE = 500  # addresses per call
NATIVE, COIN = "", "native"
_JOB = 4

# Bridged and foreign dollars that customers may have in their wallets and send by mistake.
LOOKALIKES: dict[int, dict[str, str]] = {
    8453: {
        "USDT": "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
        "USDbC": "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA",
    },
    42161: {
        "USDT": "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
        "USDC.e": "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
    },
    137: {
        "USDT": "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        "USDC.e": "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainTokens:
    """One chain, and the tokens that cannot pay there, by symbol."""

    chain_id: int
    urls: tuple[str, ...]
    tokens: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    address: DepositAddress
    token: str
    symbol: str
    amount: int


def look(*, now: datetime) -> None:
    """Read what the addresses of recent orders hold, and note what is new or gone."""
    known = configuration.current()
    with chain.one_at_a_time(_JOB) as mine:
        if known is None or not mine:
            return
        rows = list(_looked_at(now).order_by("pk"))
        for place in _places(known):
            for begin in range(0, len(rows), AT_ONCE):
                _look(place, known, rows[begin : begin + AT_ONCE], now=now)


def _looked_at(now: datetime) -> QuerySet[DepositAddress]:
    ordered = CryptoOrder.objects.filter(deposit_address=OuterRef("pk"), expires_at__gt=now - LATE)
    there = Misplaced.objects.filter(deposit_address=OuterRef("pk"), amount__gt=0)
    return DepositAddress.objects.filter(Exists(ordered) | Exists(there))


def _places(known: Configuration) -> Iterator[ChainTokens]:
    taken = {token.address for token in known.tokens.values()}
    watched = {**LOOKALIKES.get(known.chain_id, {}), **settings.CRYPTO_WATCHED_TOKENS}
    here = {symbol: abi.checksummed(address) for symbol, address in watched.items()}
    others = {symbol: address for symbol, address in here.items() if address not in taken}
    yield ChainTokens(chain_id=known.chain_id, urls=known.urls, tokens=others)
    for number, url in operator_settings.CRYPTO_OTHER_RPC_URLS.items():
        if number != known.chain_id:
            yield ChainTokens(chain_id=number, urls=(url,), tokens=_dollars(number))


def _dollars(chain_id: int) -> dict[str, str]:
    """All known dollar tokens on a chain where we sell for none of them."""
    own = {name.upper(): abi.checksummed(text.split(":")[0]) for name, text in KNOWN.get(chain_id, {}).items()}
    return {**LOOKALIKES.get(chain_id, {}), **own}


def _look(place: ChainTokens, known: Configuration, rows: Sequence[DepositAddress], *, now: datetime) -> None:
    def work(node: Node) -> tuple[int, list[Held]]:
        return node.latest.number, _held(node, place, rows)

    try:
        block, found = rpc.ask(
            place.urls,
            work,
            chain_id=place.chain_id,
            confirmation="latest",
            depth=None,
            at_least=chain.head(place.chain_id, now=now),
            batch=known.batch,
        )
    except Unknown as error:
        # the log already says which node failed
        log.error("the balances on chain %s cannot be read: %s", place.chain_id, error)
        return
    _note(place, found, block=block, now=now)


def _held(node: Node, place: ChainTokens, rows: Sequence[DepositAddress]) -> list[Held]:
    kinds = [(NATIVE, COIN), *((address, symbol) for symbol, address in place.tokens.items())]
    asked = [(row, token, symbol) for row in rows for token, symbol in kinds]
    answers = node.batch([_balance(token, row.address, block=node.latest.number) for row, token, _ in asked])
    return [
        Held(address=row, token=token, symbol=symbol, amount=_amount(answer))
        for (row, token, symbol), answer in zip(asked, answers, strict=True)
    ]


def _balance(token: str, address: str, *, block: int) -> Call:
    if token == NATIVE:
        return "eth_getBalance", [address, hex(block)]
    return tokens.balance(token, address, block=block)


def _amount(answer: object) -> int:
    """The amount. 0 if the token does not answer."""
    if isinstance(answer, NodeError):
        return 0
    try:
        return rpc.number(answer)
    except EndpointFailed:
        return 0


def _note(place: ChainTokens, found: Sequence[Held], *, block: int, now: datetime) -> None:
    rows = Misplaced.objects.filter(chain_id=place.chain_id, deposit_address__in={one.address.pk for one in found})
    before = {(row.deposit_address_id, row.token): row.amount for row in rows}
    changed = [one for one in found if before.get((one.address.pk, one.token), Decimal(0)) != one.amount]
    Misplaced.objects.bulk_create(
        [
            Misplaced(
                deposit_address=one.address,
                chain_id=place.chain_id,
                token=one.token,
                symbol=one.symbol,
                amount=Decimal(one.amount),
                block=block,
                seen_at=now,
                read_at=now,
            )
            for one in changed
        ],
        update_conflicts=True,
        unique_fields=["deposit_address", "chain_id", "token"],
        update_fields=["symbol", "amount", "block", "read_at"],
    )
    for one in changed:
        if one.amount > before.get((one.address.pk, one.token), Decimal(0)):
            about = {"address": one.address.address, "chain": place.chain_id, "token": one.token or COIN}
            log.error("money came that pays for nothing", extra=about)
