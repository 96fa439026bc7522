"""Sweeps: operators move money away from deposit addresses, with keys that this service does not have.

A sweep is recorded from its transaction on the chain.
"""

from __future__ import annotations

import logging
import re
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from billing.models import CryptoOrder, DepositAddress, HighWater, Sweep
from billing.providers.crypto import chain, configuration, formerly, settling, tokens
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import ChainUnreadable, EndpointFailed, Unknown
from billing.providers.crypto.rpc import Node
from billing.providers.crypto.tokens import TransactionReceipt, Transfer
from billing.vocabulary import OrderStatus
from config.errors import BadRequest, Conflict

log = logging.getLogger(__name__)

_HASH = re.compile(r"0x[0-9a-f]{64}")


class NoTransaction(BadRequest):
    def __init__(self, tx_hash: str) -> None:
        super().__init__(
            f"transaction: {tx_hash[:80]!r} is not a transaction of this chain; enter the hash that the wallet shows"
        )


class NotFinal(Conflict):
    def __init__(self, tx_hash: str) -> None:
        super().__init__(f"{tx_hash}: not final on the chain yet; record it in some minutes")


class SweepFailed(Conflict):
    def __init__(self, tx_hash: str) -> None:
        super().__init__(
            f"{tx_hash}: the transaction failed on the chain, so no money moved: the token may be paused, or the"
            " address blocked"
        )


class NothingSwept(Conflict):
    def __init__(self, tx_hash: str) -> None:
        super().__init__(f"{tx_hash}: moves none of the configured tokens from a deposit address")


def sweepable(*, now: datetime) -> QuerySet[DepositAddress]:
    """Addresses whose money may be swept: no order waits there, and none can still be paid late.

    A sweep of another address would hide a payment in its balance.
    """
    waiting = CryptoOrder.objects.filter(_waits(now), deposit_address=OuterRef("pk"))
    return DepositAddress.objects.filter(~Exists(waiting))


def _waits(now: datetime) -> Q:
    open_ = Q(status=OrderStatus.PENDING) | Q(expires_at__gt=now - settling.LATE)
    return open_ & ~Q(status=OrderStatus.PAID)


def record(tx_hash: str, *, reason: str, actor: str, now: datetime) -> list[Sweep]:
    """Record what a transaction of the operator's wallet took from our addresses, once. The known balances fall by it.

    Raises NoTransaction, NotFinal, SweepFailed, NothingSwept, ChainUnreadable.
    """
    tx_hash = tx_hash.strip().lower()
    known = configuration.current()
    if not _HASH.fullmatch(tx_hash):
        raise NoTransaction(tx_hash)
    if known is None:
        raise ChainUnreadable
    known = formerly.watched(known)
    found = _taken(_receipt(known, tx_hash, now=now), known, tx_hash)
    with transaction.atomic():
        # addresses are always locked in this order, so that no deadlock can happen
        ordered = sorted(found, key=lambda one: one.sender)
        return [_written(one, known, reason=reason, actor=actor, now=now) for one in ordered]


def _receipt(known: Configuration, tx_hash: str, *, now: datetime) -> TransactionReceipt:
    def work(node: Node) -> tuple[TransactionReceipt | None, int]:
        (answer,) = node.batch([tokens.receipt(tx_hash)])
        return tokens.receipt_in(node.must(answer)), node.final

    try:
        found, final = chain.read(known, work, now=now)
    except Unknown as error:
        raise ChainUnreadable from error
    if found is None:
        raise NoTransaction(tx_hash)
    if found.block > final:
        raise NotFinal(tx_hash)
    return found


def _taken(receipt: TransactionReceipt, known: Configuration, tx_hash: str) -> list[Transfer]:
    """The transfers from our addresses. A failed transaction is logged as an error: the money could not be moved."""
    if not receipt.worked:
        log.error("a sweep failed", extra={"transaction": tx_hash})
        raise SweepFailed(tx_hash)
    try:
        moved = tokens.transfers_in(receipt, list(known.assets))
    except EndpointFailed as error:
        raise ChainUnreadable from error
    ours = set(
        DepositAddress.objects.filter(address__in={one.sender for one in moved}).values_list("address", flat=True)
    )
    if found := [one for one in moved if one.sender in ours]:
        return found
    raise NothingSwept(tx_hash)


def _written(one: Transfer, known: Configuration, *, reason: str, actor: str, now: datetime) -> Sweep:
    address = DepositAddress.objects.select_for_update().get(address=one.sender)
    row, new = Sweep.objects.get_or_create(
        chain_id=known.chain_id,
        tx_hash=one.tx_hash,
        log_index=one.log_index,
        defaults={
            "deposit_address": address,
            "block": one.block,
            "asset": known.assets[one.token],
            "token": one.token,
            "amount": Decimal(one.amount),
            "actor": actor,
            "reason": reason,
            "at": now,
        },
    )
    if new:
        _lower(address, row)
    return row


def _lower(address: DepositAddress, row: Sweep) -> None:
    seen = HighWater.objects.select_for_update().filter(deposit_address=address, chain_id=row.chain_id, asset=row.asset)
    for mark in seen:
        mark.balance = max(mark.balance - row.amount, Decimal(0))
        mark.save(update_fields=["balance"])
