"""The new baseline of an order whose baseline block was replaced by the chain.

Money for the order may now be in the block with that number, or before it. So the balance is read at a block that is
older than the order, and money that paid other orders until then is not counted for this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Max

from billing.models import CryptoOrder
from billing.providers.crypto import agreement
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.reading import Before
from billing.providers.crypto.rpc import Block, Node, block, block_in

# The block must be this much older than the order, since the clocks of block producers may be a little wrong.
OLDER = timedelta(minutes=1)
# Money that paid an order before this time is in blocks that were not replaced, or was swept.
LATELY = timedelta(hours=1)
_BACK = [2**step for step in range(16)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedBaseline:
    block: int
    hash: str
    balance: int


def baseline(settings: Configuration, order: CryptoOrder, now_there: Before) -> ReplacedBaseline | None:
    """The new baseline, if a majority agrees, or None if it is not known yet. Raises Unknown.

    `now_there` is the balance at the block that has the baseline's number now.
    """
    older = _older(settings, order)
    told = agreement.balances(settings, [(order, older.number)]).get(order.pk)
    if told is None:
        return None
    balance = min(max(told.balance, _accounted(order)), max(now_there.balance, told.balance))
    return ReplacedBaseline(block=older.number, hash=told.hash, balance=balance)


def _older(settings: Configuration, order: CryptoOrder) -> Block:
    """The newest of some blocks that is older than the order, as most nodes report, or else the oldest of them."""
    numbers = sorted({max(order.baseline_block - back, 0) for back in _BACK}, reverse=True)

    def work(node: Node) -> tuple[Block, ...]:
        return tuple(block_in(node.must(answer)) for answer in node.batch([block(number) for number in numbers]))

    until = (order.created_at - OLDER).timestamp()
    blocks = agreement.most(settings, work)
    return next((one for one in blocks if one.timestamp <= until), blocks[-1])


def _accounted(order: CryptoOrder) -> int:
    """What the address held when the order before this one was paid."""
    paid = CryptoOrder.objects.exclude(pk=order.pk).filter(
        chain_id=order.chain_id,
        deposit_address=order.deposit_address_id,
        asset=order.asset,
        token=order.token,
        created_at__lte=order.created_at,
        paid_at__gt=order.created_at - LATELY,
    )
    return int(paid.aggregate(most=Max(F("baseline") + F("credited")))["most"] or 0)
