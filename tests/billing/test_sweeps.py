"""Sweeps: refused while money is waited for, and remembered."""

from __future__ import annotations

import pytest

from billing import tasks
from billing.crypto import sweeps
from billing.crypto.sweeps import StillWaiting
from billing.models import HighWater
from billing.vocabulary import Asset, OrderStatus
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import HOUR, Order, chain, coins, fresh, one_chain, order, pays, settle, to, wait
from tests.doubles.chain import CHAIN_ID, Chain

__all__ = ["chain", "coins", "one_chain", "order"]

pytestmark = pytest.mark.django_db


def test_52_a_sweep_is_refused_while_an_order_waits_or_may_be_paid_late(
    order: Order, coins: Chain, clock: Clock
) -> None:
    address = order().deposit_address
    with pytest.raises(StillWaiting):
        sweeps.check_sweepable(address, now=clock.now)
    wait(coins, clock, 25 * HOUR)
    with pytest.raises(StillWaiting):
        sweeps.check_sweepable(address, now=clock.now)
    wait(coins, clock, 15 * DAY)
    sweeps.check_sweepable(address, now=clock.now)


def test_what_was_swept_is_no_part_of_the_next_baseline(order: Order, coins: Chain, clock: Clock) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    sweeps.check_sweepable(first.deposit_address, now=clock.now)
    amount = int(first.amount)
    coins.sweep(coins.usdt, to(first), amount)
    sweeps.record(
        first.deposit_address, chain_id=CHAIN_ID, asset=Asset.USDT, amount=amount, actor="operator:x", now=clock.now
    )
    assert HighWater.objects.get().balance == 0
    second = order()
    assert second.baseline == 0
    pays(coins.usdt, second)
    settle(coins, clock)
    assert fresh(second).status == OrderStatus.PAID


def test_the_tasks_do_nothing_without_settings(db: None) -> None:
    for task in (tasks.scan_chain, tasks.watch_chain, tasks.reread_chain):
        task()


def test_the_tasks_find_what_was_paid(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    tasks.scan_chain()
    tasks.watch_chain()
    tasks.reread_chain()
    assert (fresh(wanted).status, fresh(wanted).deposits.count()) == (OrderStatus.PAID, 1)
