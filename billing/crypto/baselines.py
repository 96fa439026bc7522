"""What was at an address before its order: never less than we have seen there, and read again once it cannot change.

At the newest block, since money that is on its way when the order is made is not for it (facts: billing 3.6). One node
may lag, so what we saw ourselves counts too, and the block is the newest that it told of. Of several nodes a majority
must say the same of a block that most have: a baseline that one of them made up could swallow the payment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import Max
from django.db.models.functions import Greatest

from billing.crypto import agreement, chain, tokens
from billing.crypto.configuration import Configuration, Token
from billing.crypto.errors import EndpointFailed
from billing.crypto.rpc import LAG_BLOCKS, Block, Node, block, block_in
from billing.models import CryptoOrder, DepositAddress, HighWater

_NOTE = """
INSERT INTO billing_highwater AS known (deposit_address_id, chain_id, asset, balance, block)
VALUES (%(address)s, %(chain_id)s, %(asset)s, %(balance)s, %(block)s)
ON CONFLICT (deposit_address_id, chain_id, asset) DO UPDATE SET
    block = greatest(known.block, excluded.block),
    balance = CASE WHEN %(final)s AND excluded.block >= known.block THEN excluded.balance
        ELSE greatest(known.balance, excluded.balance) END
"""

# Only what is new is written: most addresses hold what they held fifteen seconds ago.
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
    """Read for a new order. Raises Unknown, and Misconfigured when the token is not what the settings say."""
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
    # A node that is further behind is not believed, so a block beyond that was never there.
    newest = max(found.block, told) if told <= found.block + LAG_BLOCKS else found.block
    return Baseline(balance=int(known.balance), block=newest, hash=found.hash if newest == found.block else "")


def _agreed(configuration: Configuration, token: Token, address: DepositAddress, *, now: datetime) -> Baseline:
    """What we saw does not count here: one node told it.

    The block is some before the newest, for many addresses lead to several nodes, of which some lag.
    """
    stand = agreement.stand(configuration)
    at = max(stand.latest - LAG_BLOCKS, _counted_to(configuration, token, address))

    def work(node: Node) -> tuple[str, int, tuple[int, str]]:
        if node.latest.number < at:
            raise EndpointFailed(f"at block {node.latest.number}, while most have {at}")
        (named,) = node.batch([block(at)])
        return block_in(node.must(named)).hash, *_held(node, token, address, at=at)

    name, balance, facts = agreement.most(configuration, work)
    tokens.check(token, facts)
    chain.begin(configuration.chain_id, head=at, final=stand.final, now=now)
    note(address.pk, configuration.chain_id, token.asset, balance=balance, block=at)
    return Baseline(balance=balance, block=at, hash=name)


def _counted_to(configuration: Configuration, token: Token, address: DepositAddress) -> int:
    """The newest block of which earlier orders have counted what came: no later one counts it again."""
    orders = CryptoOrder.objects.filter(
        chain_id=configuration.chain_id, deposit_address=address, asset=token.asset, token=token.address
    )
    return orders.aggregate(most=Max(Greatest("baseline_block", "paid_block")))["most"] or 0


def _held(node: Node, token: Token, address: DepositAddress, *, at: int) -> tuple[int, tuple[int, str]]:
    """What an address holds at a block, and what the token says of itself."""
    calls = [tokens.balance(token.address, address.address, block=at), *tokens.facts(token, block=at)]
    answers = node.batch(calls)
    return tokens.balance_in(answers[0]), tokens.told(answers[1:])


def note(address_id: int, chain_id: int, asset: str, *, balance: int, block: int, final: bool = False) -> None:
    """What an address was seen to hold. At a final block it is exact; before that, the most counts."""
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
    """What many addresses were seen to hold of an asset, at a block that is not final: the most counts."""
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
