"""The scan of all pending orders at one final block. It also expires orders whose chain or token is no longer used.

It reads first and writes afterwards, each order by itself: an error for one order does not stop the others, and the
next scan tries again. While the chain cannot be read, nothing is concluded, and orders wait longer by that time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import DateTimeField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Greatest

from agents.models import Desired
from billing.models import ChainState, CryptoOrder, Order
from billing.providers.crypto import agreement, baselines, chain, configuration, replaced, settling
from billing.providers.crypto.agreement import ReceivedUnits
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import Unknown
from billing.providers.crypto.reading import Balances, Before, ChainReading, Moved, look, moved
from billing.providers.crypto.rpc import Node
from billing.providers.crypto.swept import Swept, swept
from billing.vocabulary import OrderStatus, Provider

log = logging.getLogger(__name__)

# More than this without a scan is an outage. Pending orders then get the lost time back.
OUTAGE = timedelta(minutes=2)
ELSEWHERE = timedelta(days=1)
AT_ONCE = 100
_JOB = 1


def scan(*, now: datetime) -> None:
    """Check all pending orders at one final block."""
    settings = configuration.current()
    with chain.one_at_a_time(_JOB) as mine:
        if not mine:
            return
        give_up_elsewhere(settings, now=now)
        if settings is not None:
            _scan(settings, now=now)


def give_up_elsewhere(settings: Configuration | None, *, now: datetime) -> None:
    """Expire orders of a chain that is no longer read, or of a token that is no longer sold.

    Otherwise their agents would wait forever. Such orders get one more day, because the settings may be wrong for a
    while. If money was seen on a chain that is no longer read, they get as long as late money may pay. Operators
    already decide about money in such a token. If chain or token return to the settings, late money still pays these
    orders.
    """
    waits = Q(seen=0) | Q(expires_at__lte=now - settling.LATE)
    rows = CryptoOrder.objects.filter(status=OrderStatus.PENDING, expires_at__lte=now - ELSEWHERE)
    if settings is not None:
        waits |= Q(chain_id=settings.chain_id)
        rows = rows.exclude(chain_id=settings.chain_id, token__in=settings.sold)
    given_up = rows.filter(waits).order_by("expires_at").values_list("pk", "chain_id", "token")
    for order_id, chain_id, token in given_up[:AT_ONCE]:
        about = {"order": order_id, "chain": chain_id, "token": token}
        log.warning("an order is given up, because its chain is not read or its token is not accepted", extra=about)
        settling.expire(order_id)


def _scan(settings: Configuration, *, now: datetime) -> None:
    state = ChainState.objects.filter(pk=settings.chain_id).first()
    if state is None:
        return  # no order was ever placed
    orders = waiting(settings)
    receivers = [order.deposit_address.address for order in orders]

    def work(node: Node) -> tuple[ChainReading, Moved]:
        return look(node, orders), moved(node, settings, receivers, first=state.pending_to + 1)

    try:
        reading, found = chain.read(settings, work, now=now)
    except Unknown as error:
        log.error("the chain could not be read: %s", error)  # the log already says which node failed, and how
        return
    if found.transfers is not None:
        settling.record(found.transfers, settings, now=now)
        ChainState.objects.filter(pk=state.pk, pending_to__lt=found.to).update(pending_to=found.to)
    _give_back(state, now=now)
    ChainState.objects.filter(pk=state.pk).update(read_at=now)
    rows = waiting(settings, among=reading.seen)
    balances = {(row.deposit_address_id, str(row.asset)): reading.seen[row.pk].latest for row in rows}
    baselines.rise(balances, chain_id=settings.chain_id, block=reading.latest)
    before = agreement.baselines(settings, rows, reading)
    taken = swept(rows)
    for order in rows:
        each(order, lambda row: _note(settings, row, reading, before.get(row.pk), taken))
    came = agreed_on(settings, rows, reading, taken)
    for order in rows:
        each(order, lambda row: _settle(row, reading, came, taken, now=now))


def waiting(settings: Configuration, among: dict[str, Balances] | None = None) -> list[CryptoOrder]:
    rows = settling.payable(settings).filter(status=OrderStatus.PENDING)
    if among is not None:
        rows = rows.filter(pk__in=among)
    return list(settling.briefly(rows).order_by("created_at", "id"))


def each(order: CryptoOrder, work: Callable[[CryptoOrder], None]) -> None:
    try:
        work(order)
    except Exception:
        log.exception("an order could not be settled: the next scan tries again", extra={"order": order.pk})


def _give_back(state: ChainState, *, now: datetime) -> None:
    """Extend the pending orders by the time of an outage."""
    if now - state.read_at < OUTAGE:
        return
    asked = Greatest(Value(state.read_at), F("created_at"))
    later = ExpressionWrapper(F("expires_at") + (Value(now) - asked), output_field=DateTimeField())
    waiting = Order.objects.filter(status=OrderStatus.PENDING, provider__in=[Provider.USDT, Provider.USDC])
    waiting.filter(created_at__lt=now).update(expires_at=later)


def _note(
    settings: Configuration, order: CryptoOrder, reading: ChainReading, before: Before | None, taken: Swept
) -> None:
    """Store the received units, final or not."""
    if before is not None:
        fix_baseline(settings, order, before)
    received = _seen(order, reading, taken)
    if order.seen != received:
        order.seen, order.seen_block = Decimal(received), reading.latest if received else None
        CryptoOrder.objects.filter(pk=order.pk).update(seen=order.seen, seen_block=order.seen_block)


def _settle(order: CryptoOrder, reading: ChainReading, came: ReceivedUnits, taken: Swept, *, now: datetime) -> None:
    unsettled = _seen(order, reading, taken) - _settled(order, reading, taken)
    if (units := came.units.get(order.pk, 0)) >= order.amount:
        settling.pay(order.pk, received=units, block=came.block, now=now)
    elif order.agent.desired == Desired.DELETED or _is_given_up(order, reading, unsettled=unsettled, now=now):
        settling.expire(order.pk)


def _seen(order: CryptoOrder, reading: ChainReading, taken: Swept) -> int:
    """The received units, final or not, as the one asked node reports them."""
    grown = reading.seen[order.pk].latest - int(order.baseline)
    return max(grown + taken.since(order, until=reading.latest), 0)


def _settled(order: CryptoOrder, reading: ChainReading, taken: Swept) -> int:
    """The received units that are final."""
    final = reading.seen[order.pk].final
    return 0 if final is None else max(final - int(order.baseline) + taken.since(order, until=reading.final), 0)


def agreed_on(
    settings: Configuration, orders: Sequence[CryptoOrder], reading: ChainReading, taken: Swept
) -> ReceivedUnits:
    """What most nodes report for the orders that one node reports as paid.

    One node's report, by the balance or by transfers, is the reason to ask all nodes. Transfers that the balance does
    not show pay nothing: a node invented them, or a sweep was not recorded.
    """
    enough = [order for order in orders if _settled(order, reading, taken) >= order.amount]
    told = settling.told_of(set(orders).difference(enough), until=reading.final)
    came = agreement.received(settings, [*enough, *told], block=reading.final)
    for order in told:
        if came.units[order.pk] < order.amount:
            log.error(
                "money came for an order, but the address does not have it: was it swept?", extra={"order": order.pk}
            )
    return came


def _is_given_up(order: CryptoOrder, reading: ChainReading, *, unsettled: int, now: datetime) -> bool:
    """Whether the order's time is over, nothing came or is on its way, and the node's newest block is later."""
    return order.expires_at <= now and order.expires_at.timestamp() <= reading.time and unsettled <= 0


def fix_baseline(settings: Configuration, order: CryptoOrder, before: Before) -> None:
    """Make the baseline final, now that its block cannot change any more."""
    block, found = order.baseline_block, before
    if order.baseline_hash not in {"", before.hash}:
        anew = replaced.baseline(settings, order, before)
        if anew is None:
            return
        block, found = anew.block, Before(balance=anew.balance, hash=anew.hash)
    if order.baseline != found.balance or order.baseline_block != block:
        log.warning("a baseline was corrected", extra={"order": order.pk, "was": str(order.baseline), "is": found})
    order.baseline, order.baseline_final = Decimal(found.balance), True
    order.baseline_block, order.baseline_hash = block, found.hash
    known = {name: getattr(order, name) for name in ("baseline", "baseline_final", "baseline_block", "baseline_hash")}
    CryptoOrder.objects.filter(pk=order.pk).update(**known)
    where = (order.deposit_address_id, order.chain_id, order.asset)
    baselines.note(*where, balance=found.balance, block=block, final=True)
