"""What recorded sweeps took from deposit addresses. With it, the balance tells how much money came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from billing.models import CryptoOrder, Sweep

Source = tuple[int, int, str]  # deposit address id, chain id, asset


@dataclass(frozen=True, slots=True)
class Swept:
    rows: dict[Source, list[tuple[int, int]]]  # (block, amount) of each sweep

    def since(self, order: CryptoOrder, *, until: int) -> int:
        """Units taken from the order's address after its baseline, up to a block."""
        taken = self.rows.get((order.deposit_address_id, order.chain_id, str(order.asset)), [])
        return sum(amount for block, amount in taken if order.baseline_block < block <= until)


def swept(orders: Sequence[CryptoOrder]) -> Swept:
    """The recorded sweeps of these orders' addresses. A sweep that nobody recorded is missing here."""
    rows: dict[Source, list[tuple[int, int]]] = defaultdict(list)
    known = Sweep.objects.filter(deposit_address__in={order.deposit_address_id for order in orders})
    for address, chain_id, asset, block, amount in known.values_list(
        "deposit_address_id", "chain_id", "asset", "block", "amount"
    ):
        rows[address, chain_id, asset].append((block, int(amount)))
    return Swept(dict(rows))
