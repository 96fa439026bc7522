"""The baseline of an order: the balance of its address before the order. It is read again once its block is final.

It is read at the newest block, because money that is already on its way does not belong to a new order. One node may be
behind, so the highest balance that we saw also counts, and the block is the newest one that the node has reported. With
several nodes, a majority must report the same for a block that most have: a baseline invented by one node could hide
the payment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import Max
from django.db.models.functions import Greatest

from billing.models import CryptoOrder, DepositAddress, HighWater
from billing.providers.crypto import agreement, chain, tokens
from billing.providers.crypto.configuration import Configuration, Token
from billing.providers.crypto.errors import EndpointFailed
from billing.providers.crypto.rpc import LAG_BLOCKS, Block, Node, block, block_in

_NOTE = """
INSERT INTO billing_highwater AS known (deposit_address_id, chain_id, asset, balance, block)
VALUES (%(address)s, %(chain_id)s, %(asset)s, %(balance)s, %(block)s)
ON CONFLICT (deposit_address_id, chain_id, asset) DO UPDATE SET
    block = greatest(known.block, excluded.block),
    balance = CASE WHEN %(final)s AND excluded.block >= known.block THEN excluded.balance
        ELSE greatest(known.balance, excluded.balance) END
"""

# Write only changes: most addresses hold the same as fifteen seconds ago.
_RISE = """
INSERT INTO billing_highwater AS known (deposit_address_id, chain_id, asset, balance, block)
SELECT held.address, %(chain_id)s, held.asset, held.balance, %(block)s
FROM unnest(%(addresses)s::bigint[], %(assets)s::text[], %(balances)s::numeric[]) AS held (address, asset, balance)
LEFT JOIN billing_highwater seen
    ON seen.deposit_address_id = held.address AND seen.chain_id = %(chain_id)s AND seen.asset = held.asset
WHERE seen.balance IS NULL OR seen.balance < held.balance
ORDER BY held.address
ON CONFLICT (deposit_address_id, chain_id, asset) DO UPDATE SET
    balance = greatest(known.balance, excluded.balance), block = greatest(known.block, excluded.block)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    balance: int
    block: int
    hash: str


def at_latest(configuration: Configuration, token: Token, address: DepositAddress, *, now: datetime) -> Baseline:
    """Read the baseline for a new order. Raises Unknown, and Misconfigured if the token differs from the settings."""
    if len(configuration.urls) > 1:
        return _agreed(configuration, token, address, now=now)

    def work(node: Node) -> tuple[Block, int, tuple[int, str]]:
        return node.latest, *_held(node, token, address, at=node.latest.number)

    at, balance, facts = chain.read(configuration, work, now=now)
    tokens.check(token, facts)
    found = Baseline(balance=balance, block=at.number, hash=at.hash)
    note(address.pk, configuration.chain_id, token.asset, balance=found.balance, block=found.block)
    known = HighWater.objects.get(deposit_address=address, chain_id=configuration.chain_id, asset=token.asset)
    told = max(known.block, chain.head(configuration.chain_id, now=now))
    # A node that is further behind is not trusted, so a newest block beyond that limit was never on the chain.
    newest = max(found.block, told) if told <= found.block + LAG_BLOCKS else found.block
    return Baseline(balance=int(known.balance), block=newest, hash=found.hash if newest == found.block else "")


def _agreed(configuration: Configuration, token: Token, address: DepositAddress, *, now: datetime) -> Baseline:
    """The baseline as a majority of nodes reports it. Earlier sightings do not count, since one node reported them.

    It is read some blocks before the newest one, because one URL may lead to several nodes, and some are behind.
    """
    heights = agreement.heights(configuration)
    at = max(heights.latest - LAG_BLOCKS, _counted_to(configuration, token, address))

    def work(node: Node) -> tuple[str, int, tuple[int, str]]:
        if node.latest.number < at:
            raise EndpointFailed(f"at block {node.latest.number}, while most have {at}")
        (named,) = node.batch([block(at)])
        return block_in(node.must(named)).hash, *_held(node, token, address, at=at)

    name, balance, facts = agreement.most(configuration, work)
    tokens.check(token, facts)
    chain.begin(configuration.chain_id, head=at, final=heights.final, now=now)
    note(address.pk, configuration.chain_id, token.asset, balance=balance, block=at)
    return Baseline(balance=balance, block=at, hash=name)


def _counted_to(configuration: Configuration, token: Token, address: DepositAddress) -> int:
    """The newest block up to which earlier orders have counted money, so that no later order counts it again."""
    orders = CryptoOrder.objects.filter(
        chain_id=configuration.chain_id, deposit_address=address, asset=token.asset, token=token.address
    )
    return orders.aggregate(most=Max(Greatest("baseline_block", "paid_block")))["most"] or 0


def _held(node: Node, token: Token, address: DepositAddress, *, at: int) -> tuple[int, tuple[int, str]]:
    """The balance of an address at a block, and the token's decimals and symbol."""
    calls = [tokens.balance(token.address, address.address, block=at), *tokens.facts(token, block=at)]
    answers = node.batch(calls)
    return tokens.balance_in(answers[0]), tokens.facts_in(answers[1:])


def note(address_id: int, chain_id: int, asset: str, *, balance: int, block: int, final: bool = False) -> None:
    """Store the balance of an address. At a final block it is exact; before that, the highest seen value counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            _NOTE,
            {
                "address": address_id,
                "chain_id": chain_id,
                "asset": asset,
                "balance": Decimal(balance),
                "block": block,
                "final": final,
            },
        )


def rise(balances: Mapping[tuple[int, str], int], *, chain_id: int, block: int) -> None:
    """Store the balances of many addresses at a block that is not final: the highest seen value counts."""
    with connection.cursor() as cursor:
        cursor.execute(
            _RISE,
            {
                "addresses": [address for address, _ in balances],
                "assets": [asset for _, asset in balances],
                "balances": [Decimal(balance) for balance in balances.values()],
                "chain_id": chain_id,
                "block": block,
            },
        )
