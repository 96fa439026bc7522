"""Money that operators take from deposit addresses, with keys that are nowhere near here."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction

from billing.crypto import settling
from billing.models import CryptoOrder, DepositAddress, HighWater, Sweep
from billing.vocabulary import Asset, OrderStatus
from config.errors import Conflict


class StillWaiting(Conflict):
    def __init__(self, address: str) -> None:
        super().__init__(f"{address}: an order waits for money here, or could still be paid late; sweep it afterwards")


def check_sweepable(address: DepositAddress, *, now: datetime) -> None:
    """Before the wallet is asked. Raises StillWaiting: a sweep would hide a payment from its balance."""
    rows = CryptoOrder.objects.filter(deposit_address=address).exclude(status=OrderStatus.PAID)
    if rows.filter(status=OrderStatus.PENDING).exists() or rows.filter(expires_at__gt=now - settling.LATE).exists():
        raise StillWaiting(address.address)


@transaction.atomic
def record(address: DepositAddress, *, chain_id: int, asset: Asset, amount: int, actor: str, now: datetime) -> Sweep:
    """It was taken away: from now on so much less was ever seen there."""
    known = HighWater.objects.select_for_update().filter(deposit_address=address, chain_id=chain_id, asset=asset)
    for row in known:
        known.filter(pk=row.pk).update(balance=max(row.balance - amount, Decimal(0)))
    return Sweep.objects.create(
        deposit_address=address, chain_id=chain_id, asset=asset, amount=Decimal(amount), actor=actor, at=now
    )
