"""The slow jobs: late money, transfers to all of our addresses, and baselines that became final."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from agents import timeline
from agents.models import Agent, Reason
from billing.errors import AskedAlready
from billing.models import ChainState, CryptoOrder, DepositAddress
from billing.providers.crypto import agreement, chain, configuration, dropped, formerly, settling, tokens
from billing.providers.crypto.agreement import ReceivedUnits
from billing.providers.crypto.configuration import Configuration
from billing.providers.crypto.errors import Misconfigured, Unknown
from billing.providers.crypto.reading import look, moved, transfers
from billing.providers.crypto.rpc import Node
from billing.providers.crypto.scanning import agreed_on, each, fix_baseline, waiting
from billing.providers.crypto.swept import swept
from billing.providers.crypto.tokens import Transfer
from config import background
from config.errors import Conflict

log = logging.getLogger(__name__)

ASKED_EVERY = timedelta(seconds=30)
AT_ONCE = 100  # orders that one run reads again, each by itself
_WATCH, _REREAD = 2, 3


class NotRead(Conflict):
    def __init__(self, chain_id: int) -> None:
        super().__init__(f"chain {chain_id} is not read: it is not the one that the settings name")


@transaction.atomic
def ask(order: CryptoOrder, *, reason: str, actor: str, now: datetime) -> None:
    """An operator asks to read the chain now. Raises NotRead, AskedAlready."""
    settings = configuration.current()
    if settings is None or settings.chain_id != order.chain_id:
        raise NotRead(order.chain_id)
    agent = Agent.objects.lock(order.agent_id)
    rested = Q(asked_at=None) | Q(asked_at__lte=now - ASKED_EVERY)
    if not ChainState.objects.filter(rested, pk=order.chain_id).update(asked_at=now):
        raise AskedAlready(f"chain {order.chain_id}")
    timeline.note(agent, f"the chain is read now for {order.pk}: {reason}", reason=Reason.PAYMENT, actor=actor, now=now)
    for task in ("billing.scan_chain", "billing.watch_chain"):
        background.on_commit(task)


def watch(*, now: datetime) -> None:
    """Find late money and transfers to all addresses, and fill in the transactions that paid."""
    settings = configuration.current()
    with chain.one_at_a_time(_WATCH) as mine:
        state = ChainState.objects.filter(pk=settings.chain_id).first() if settings is not None else None
        if settings is None or state is None or not mine:
            return
        try:
            _watch(formerly.watched(settings), state, now=now)
        except Unknown as error:
            log.error("the chain could not be read: %s", error)  # the log already says which node failed, and how


def _watch(settings: Configuration, state: ChainState, *, now: datetime) -> None:
    late = settling.late_orders(settings, now=now)
    known = {order.pk for order in late}
    replaced = [row for row in settling.replaced_with_money(settings, now=now) if row.pk not in known]
    expired = [*late, *replaced]
    reading = chain.read(settings, lambda node: look(node, expired), now=now)
    _record(settings, state, now=now)
    before = agreement.baselines(settings, expired, reading)
    for order in expired:
        if order.pk in before:
            each(order, lambda row: fix_baseline(settings, row, before[row.pk]))
    came = agreed_on(settings, late, reading, swept(late))
    for order in late:
        each(order, lambda row: _settle(row, came, now=now))
    blocks = dict(settling.overtaken(settings, now=now))
    for order in blocks:
        each(order, lambda row: _pay_overtaken(settings, row, blocks[row], now=now))
    _fill_hashes(settings, now=now)
    settling.sort_out(dropped.known(settings, settling.unsorted(chain_id=state.pk)), settings, now=now)
    dropped.look(settings, now=now)


def _record(settings: Configuration, state: ChainState, *, now: datetime) -> None:
    """Record transfers that any node reports, since one node may leave some out.

    The next run continues from the block that most nodes have read.
    """
    receivers = list(DepositAddress.objects.order_by("pk").values_list("address", flat=True))
    ends = [state.all_to] * len(settings.urls)
    for number, url in enumerate(settings.urls):
        try:
            found = chain.read_by(url, settings, lambda node: moved(node, settings, receivers, first=state.all_to + 1))
        except Unknown:
            continue
        if found.transfers is not None:
            settling.record(found.transfers, settings, now=now)
            ends[number] = found.to
    to = sorted(ends, reverse=True)[len(ends) // 2]
    if to != state.all_to:  # it may also be an earlier block, if only one node had read up to the later one
        ChainState.objects.filter(pk=state.pk).update(all_to=to)


def _settle(order: CryptoOrder, came: ReceivedUnits, *, now: datetime) -> None:
    if (units := came.units.get(order.pk, 0)) >= order.amount:
        settling.pay(order.pk, received=units, block=came.block, now=now)


def _pay_overtaken(settings: Configuration, order: CryptoOrder, block: int, *, now: datetime) -> None:
    came = agreement.received(settings, [order], block=block)
    if came.block == block:
        _settle(order, came, now=now)


def _fill_hashes(settings: Configuration, *, now: datetime) -> None:
    """Read transfers again for paid orders whose transfers were not complete."""
    paid = CryptoOrder.objects.filter(chain_id=settings.chain_id, tx_hash=None, paid_block__isnull=False)
    for order in paid.select_related("deposit_address")[:AT_ONCE]:
        each(order, lambda row: _fill_hash(settings, row, now=now))


def _fill_hash(settings: Configuration, order: CryptoOrder, *, now: datetime) -> None:
    """Read the transfers from the order's baseline to the block where it was paid."""

    def work(node: Node) -> list[Transfer]:
        first, last = order.baseline_block + 1, min(node.final, order.paid_block or node.final)
        return transfers(node, settings, [order.deposit_address.address], first=first, last=last) or []

    settling.record(chain.read(settings, work, now=now), settings, now=now)
    settling.fill_hash(order)


def reread(*, now: datetime) -> None:
    """Make baselines final, and check that the tokens still match the settings."""
    settings = configuration.current()
    with chain.one_at_a_time(_REREAD) as mine:
        if settings is None or not mine:
            return
        try:
            _reread(settings, now=now)
        except Misconfigured as error:
            chain.set_fault(settings.chain_id, str(error))
        except Unknown as error:
            log.error("the chain could not be read: %s", error)  # the log already says which node failed, and how


def _reread(settings: Configuration, *, now: datetime) -> None:
    rows = [*waiting(settings), *settling.late_orders(settings, now=now)]
    orders = [row for row in rows if not row.baseline_final]

    def facts(node: Node) -> tuple[tuple[int, str], ...]:
        at = node.latest.number
        return tuple(tokens.facts_in(node.batch(tokens.facts(token, block=at))) for token in settings.tokens.values())

    reading = chain.read(settings, lambda node: look(node, orders), now=now)
    for token, told in zip(settings.tokens.values(), agreement.most(settings, facts), strict=True):
        tokens.check(token, told)
    chain.set_fault(settings.chain_id, "")
    before = agreement.baselines(settings, orders, reading)
    for order in orders:
        if order.pk in before:
            each(order, lambda row: fix_baseline(settings, row, before[row.pk]))
