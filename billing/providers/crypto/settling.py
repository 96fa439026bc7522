"""How a reading of the chain changes orders and deposits. Nothing here uses the network.

An order is paid when the balance of its address at a final block is higher than its baseline by the amount. Each
transfer has one row; transfers that bought nothing are marked for operators.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from agents.models import Agent, Desired
from billing import coupons, orders, payments
from billing.models import CryptoOrder, Deposit, DepositAddress, Sweep
from billing.payments import Receipt
from billing.providers.crypto.configuration import FINALIZED, Configuration
from billing.providers.crypto.swept import swept
from billing.providers.crypto.tokens import Transfer
from billing.subscriptions import Purchase
from billing.vocabulary import OrderStatus, Provider

log = logging.getLogger(__name__)

LATE = timedelta(days=14)  # how long after its order has expired late money still pays it
NO_ORDER = "no order was open for it"
TOO_LATE = "its order had expired more than 14 days before"
SUPERSEDED = "it was too little, and a newer order replaced its order"
NOT_TAKEN = "its token is not accepted any more"
COUPON_USED = "it came late, and its order's coupon has been used by other orders"
BATCH = 1000
OVERTAKEN = 20  # orders in a run, each read by itself
RECHECKED = timedelta(minutes=10)  # after this time the chain is asked whether the payment is still there (dropped.py)
ASIDE = 10**9


def record(transfers: Iterable[Transfer], configured: Configuration, *, now: datetime) -> None:
    """Write one row for each transfer, even if it is read again or appears again in another block."""
    found = _new(list(transfers), configured)
    owners = dict(
        DepositAddress.objects.filter(address__in={one.receiver for one in found}).values_list("address", "pk")
    )
    rows = [
        Deposit(
            chain_id=configured.chain_id,
            tx_hash=one.tx_hash,
            log_index=one.log_index,
            block=one.block,
            block_hash=one.block_hash,
            deposit_address_id=owners[one.receiver],
            asset=configured.assets[one.token],
            token=one.token,
            sender=one.sender,
            amount=Decimal(one.amount),
            seen_at=now,
        )
        for one in found
    ]
    Deposit.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)


def _new(transfers: list[Transfer], configured: Configuration) -> list[Transfer]:
    """The transfers that have no row yet. A transaction that appears again in another block is the same money: move its
    rows.

    If the chain itself says what is final, blocks cannot change: then rows are not moved, since the node must be wrong.
    """
    known: dict[str, list[Deposit]] = {}
    hashes = {one.tx_hash for one in transfers}
    rows = Deposit.objects.filter(chain_id=configured.chain_id, tx_hash__in=hashes).select_related("deposit_address")
    for row in rows.order_by("log_index"):
        known.setdefault(row.tx_hash, []).append(row)
    new, again = [], []
    for one in sorted(transfers, key=lambda one: one.log_index):
        same = [row for row in known.get(one.tx_hash, []) if _is_again(one, row)]
        if same:
            again.append((one, same[0]))
            known[one.tx_hash].remove(same[0])
        else:
            new.append(one)
    if configured.confirmation != FINALIZED:
        follow(again)
    return new


def _is_again(one: Transfer, row: Deposit) -> bool:
    same = (row.deposit_address.address, row.token, int(row.amount)) == (one.receiver, one.token, one.amount)
    return same and row.block_hash != one.block_hash


@transaction.atomic
def follow(again: list[tuple[Transfer, Deposit]]) -> None:
    """Move these rows to their new blocks. First give all of them a free index, since rows may swap their places."""
    Deposit.objects.filter(pk__in=[row.pk for _, row in again]).update(log_index=F("log_index") + ASIDE)
    for one, row in again:
        row.block, row.block_hash, row.log_index = one.block, one.block_hash, one.log_index
        row.save(update_fields=["block", "block_hash", "log_index"])


def own_deposits(order: CryptoOrder, *, until: int) -> QuerySet[Deposit]:
    """The transfers for the order after its baseline, up to a block, in the order of the chain."""
    return Deposit.objects.filter(
        chain_id=order.chain_id,
        deposit_address_id=order.deposit_address_id,
        asset=order.asset,
        token=order.token,
        block__gt=order.baseline_block,
        block__lte=until,
    ).order_by("block", "log_index")


def told_of(orders: Iterable[CryptoOrder], *, until: int) -> list[CryptoOrder]:
    """The orders that the transfers up to a block would pay, before the nodes have agreed on it."""
    rows = {(row.deposit_address_id, str(row.asset)): row for row in orders}
    free = Deposit.objects.filter(order=None, unapplied="", deposit_address__in={address for address, _ in rows})
    having = set(free.values_list("deposit_address_id", "asset"))
    return [row for place, row in rows.items() if place in having and _came(row, until=until) >= row.amount]


def _came(order: CryptoOrder, *, until: int) -> Decimal:
    free = own_deposits(order, until=until).filter(order=None, unapplied="")
    return free.aggregate(total=Sum("amount"))["total"] or Decimal(0)


def crossing(deposits: Sequence[Deposit], amount: Decimal) -> str | None:
    """The transaction with which the sum reached the amount."""
    total = Decimal(0)
    for deposit in deposits:
        total += deposit.amount
        if total >= amount:
            return deposit.tx_hash
    return None


@transaction.atomic
def pay(order_id: str, *, received: int, block: int, now: datetime) -> None:
    """Pay the order: its money came and is final. Twice is harmless. If the agent is deleted, operators decide.

    Money that an operator decided about is already in the ledger and is not part of `received`.
    """
    row = _locked(order_id)
    if row.status == OrderStatus.PAID:
        return
    deposits = own_deposits(row, until=block).filter(order=None, decision=None)
    over = max(received - int(row.amount), 0)
    late = row.status == OrderStatus.EXPIRED
    if late and not _may_pay_late(row, deposits, block=block):
        return
    recheck_at = None if settings.CRYPTO_CONFIRMATION == FINALIZED else now + RECHECKED
    CryptoOrder.objects.filter(pk=row.pk).update(
        seen=max(row.seen, Decimal(received)),
        credited=Decimal(received),
        late=late,
        paid_block=block,
        recheck_at=recheck_at,
        tx_hash=crossing(list(deposits), row.amount),
    )
    payment = payments.apply_payment(receipt(row, received=received, over=over, late=late), now=now)
    if payment.unapplied:
        orders.expire(orders.locked(row.pk))
        deposits.update(unapplied=payment.unapplied)
        return
    deposits.update(order=row, unapplied="")
    log.info("an order was paid", extra={"order": row.pk, "received": received, "over": over, "late": late})


def _may_pay_late(row: CryptoOrder, deposits: QuerySet[Deposit], *, block: int) -> bool:
    """Not with money that an operator decided about, and not at a coupon's price if the coupon is used up by now."""
    undecided = deposits.aggregate(total=Sum("amount"))["total"] or Decimal(0)
    if undecided < row.amount and own_deposits(row, until=block).filter(decision__isnull=False).exists():
        return False
    if coupons.is_left_for(row):
        return True
    if deposits.filter(unapplied="").update(unapplied=COUPON_USED):
        log.error("a deposit bought nothing", extra={"order": row.pk, "why": COUPON_USED})
    return False


def receipt(row: CryptoOrder, *, received: int, over: int, late: bool) -> Receipt:
    provider = Provider(row.provider)
    return Receipt(
        provider=provider,
        external_id=row.pk,
        agent_id=row.agent_id,
        purchase=Purchase.as_in(row, provider=provider),
        amount=received,
        currency=row.asset,
        over=over,
        late=late,
        order_id=row.pk,
        actor="chain",
    )


@transaction.atomic
def expire(order_id: str) -> None:
    row = _locked(order_id)
    if row.status == OrderStatus.PENDING:
        orders.expire(orders.locked(order_id))


def _locked(order_id: str) -> CryptoOrder:
    """The order, locked. The agent's row is locked first, so that no deadlock can happen."""
    agent_id = CryptoOrder.objects.values_list("agent_id", flat=True).get(pk=order_id)
    Agent.objects.lock(agent_id)
    return CryptoOrder.objects.select_for_update().get(pk=order_id)


def briefly(rows: QuerySet[CryptoOrder]) -> QuerySet[CryptoOrder]:
    """Load only the agent's fields that a scan needs: there are many orders, and an agent has secrets to decrypt."""
    fields = CryptoOrder._meta.concrete_fields  # noqa: SLF001 # the way that Django documents
    names = [field.name for field in fields if field.name != "tier_snapshot"]
    related = rows.select_related("deposit_address", "agent")
    return related.only(*names, "deposit_address__address", "agent__desired")


def payable(configured: Configuration) -> QuerySet[CryptoOrder]:
    """Orders on the chain that is read, in tokens that are sold."""
    return CryptoOrder.objects.filter(chain_id=configured.chain_id, token__in=configured.sold)


def late_orders(configured: Configuration, *, now: datetime) -> list[CryptoOrder]:
    """Expired orders that late money may still pay: the newest one for each address and coin, if its agent is not
    deleted.
    """
    rows = (
        briefly(payable(configured).filter(expires_at__gt=now - LATE))
        .order_by("deposit_address_id", "asset", "-created_at", "-id")
        .distinct("deposit_address_id", "asset")
    )
    return [row for row in rows if row.status == OrderStatus.EXPIRED and row.agent.desired != Desired.DELETED]


def replaced_with_money(configured: Configuration, *, now: datetime) -> list[CryptoOrder]:
    """Expired orders with money that a newer order replaced before their baseline was final (see `overtaken`).

    One order for each address and coin at a time, since an account may place any number of orders.
    """
    came = Deposit.objects.filter(
        deposit_address=OuterRef("deposit_address"),
        asset=OuterRef("asset"),
        token=OuterRef("token"),
        chain_id=OuterRef("chain_id"),
        block__gt=OuterRef("baseline_block"),
        order=None,
        unapplied="",
    )
    expired = payable(configured).filter(
        Exists(came), status=OrderStatus.EXPIRED, expires_at__gt=now - LATE, baseline_final=False
    )
    rows = briefly(expired.exclude(agent__desired=Desired.DELETED))
    newest = rows.order_by("deposit_address_id", "asset", "-created_at", "-id")
    return list(newest.distinct("deposit_address_id", "asset"))


def overtaken(configured: Configuration, *, now: datetime) -> list[tuple[CryptoOrder, int]]:
    """Expired orders that were fully paid before the baseline of the next order, each with the block of that baseline.

    The money was not seen yet when the next order was placed, or it came after this order had expired.
    """
    newer = CryptoOrder.objects.filter(
        chain_id=OuterRef("chain_id"),
        deposit_address=OuterRef("deposit_address"),
        asset=OuterRef("asset"),
        token=OuterRef("token"),
        created_at__gt=OuterRef("created_at"),
    ).order_by("created_at", "id")
    expired = payable(configured).filter(status=OrderStatus.EXPIRED, expires_at__gt=now - LATE, baseline_final=True)
    rows = briefly(expired.exclude(agent__desired=Desired.DELETED)).annotate(
        lay_then=Subquery(newer.filter(baseline_final=True).values("baseline")[:1]),
        next_block=Subquery(newer.values("baseline_block")[:1]),
    )
    grown = rows.annotate(swept=_swept_until("next_block"), held=F("lay_then") + F("swept"))
    full = grown.filter(held__gte=F("baseline") + F("amount"), next_block__gt=F("baseline_block"))
    return [(row, row.next_block) for row in full.order_by("created_at")[:OVERTAKEN]]


def _swept_until(block: str) -> Coalesce:
    """What recorded sweeps took from an order's address after its baseline, up to the block in this column."""
    taken = Sweep.objects.filter(
        chain_id=OuterRef("chain_id"),
        deposit_address=OuterRef("deposit_address"),
        asset=OuterRef("asset"),
        block__gt=OuterRef("baseline_block"),
        block__lte=OuterRef(block),
    )
    total = taken.order_by().values("deposit_address").annotate(total=Sum("amount")).values("total")
    return Coalesce(Subquery(total), Value(Decimal(0)))


def unsorted(*, chain_id: int) -> list[Deposit]:
    rows = Deposit.objects.filter(chain_id=chain_id, order=None, unapplied="").select_related("deposit_address")
    return list(rows.order_by("pk")[:BATCH])


def sort_out(deposits: Iterable[Deposit], configured: Configuration, *, now: datetime) -> None:
    """Assign each open deposit to the order that it paid, or write why it bought nothing. Others stay open."""
    for deposit in deposits:
        _sort_out(deposit, configured, now=now)


def _sort_out(deposit: Deposit, configured: Configuration, *, now: datetime) -> None:
    before = CryptoOrder.objects.filter(
        chain_id=deposit.chain_id,
        deposit_address_id=deposit.deposit_address_id,
        asset=deposit.asset,
        token=deposit.token,
        baseline_block__lt=deposit.block,
    )
    paid = before.filter(status=OrderStatus.PAID, paid_block__gte=deposit.block).order_by("created_at").first()
    if paid is not None:
        Deposit.objects.filter(pk=deposit.pk, order=None).update(order=paid)
        return
    newest = before.order_by("-created_at", "-id").first()
    if reason := NOT_TAKEN if deposit.token not in configured.sold else _unapplied(deposit, newest, now=now):
        Deposit.objects.filter(pk=deposit.pk, order=None, unapplied="").update(unapplied=reason)
        log.error("a deposit bought nothing", extra={"deposit": deposit.tx_hash, "why": reason})


def _unapplied(deposit: Deposit, newest: CryptoOrder | None, *, now: datetime) -> str:
    agent = Agent.objects.get(deposit_addresses=deposit.deposit_address_id)
    if agent.desired == Desired.DELETED:
        return payments.DELETED
    if newest is None or newest.status == OrderStatus.PAID:
        return NO_ORDER
    if newest.status == OrderStatus.EXPIRED and newest.expires_at <= now - LATE:
        return TOO_LATE
    return SUPERSEDED if newest.status == OrderStatus.EXPIRED and _is_overtaken(newest) else ""


def _is_overtaken(order: CryptoOrder) -> bool:
    """Whether money for this order was too little when the next order's baseline was read; then it counts for no order.

    The amount is known once the next order's baseline is final.
    """
    same = CryptoOrder.objects.filter(
        chain_id=order.chain_id, deposit_address_id=order.deposit_address_id, asset=order.asset, token=order.token
    )
    newer = same.filter(created_at__gt=order.created_at).order_by("created_at", "id").first()
    if newer is None or not newer.baseline_final:
        return False
    held = newer.baseline + swept([order]).since(order, until=newer.baseline_block)
    return held < order.baseline + order.amount


def fill_hash(order: CryptoOrder) -> None:
    """Set `tx_hash` once the transfers of an order are known that was paid by its balance."""
    found = crossing(list(own_deposits(order, until=order.paid_block or 0)), order.amount)
    CryptoOrder.objects.filter(pk=order.pk, tx_hash=None).update(tx_hash=found)
