"""Sweeps: refused while an order waits for money, and recorded."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, transaction
from pytest_django import Settings

from billing.models import HighWater, Sweep
from billing.providers.crypto import sweeps, tasks
from billing.providers.crypto.errors import ChainUnreadable
from billing.providers.crypto.sweeps import NotFinal, NothingSwept, NoTransaction, SweepFailed
from billing.vocabulary import Asset, OrderStatus
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import HOUR, USD, Order, fresh, pays, scan, settle, to, wait
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = pytest.mark.django_db


def test_an_address_is_not_sweepable_while_an_order_waits_or_may_be_paid_late(
    order: Order, coins: Chain, clock: Clock
) -> None:
    address = order().deposit_address
    assert list(sweeps.sweepable(now=clock.now)) == []
    wait(coins, clock, 25 * HOUR)
    assert list(sweeps.sweepable(now=clock.now)) == []
    wait(coins, clock, 15 * DAY)
    assert list(sweeps.sweepable(now=clock.now)) == [address]


def taken(tx_hash: str, clock: Clock) -> list[tuple[str, int]]:
    rows = sweeps.record(tx_hash, reason="to the vault", actor="operator:x", now=clock.now)
    return [(row.deposit_address.address, int(row.amount)) for row in rows]


def test_what_was_swept_is_no_part_of_the_next_baseline(order: Order, coins: Chain, clock: Clock) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    assert first.deposit_address in sweeps.sweepable(now=clock.now)
    tx_hash = coins.sweep(coins.usdt, to(first), int(first.amount))
    coins.final()
    assert taken(tx_hash, clock) == [(to(first), int(first.amount))]
    assert HighWater.objects.get().balance == 0
    second = order()
    assert second.baseline == 0
    pays(coins.usdt, second)
    settle(coins, clock)
    assert fresh(second).status == OrderStatus.PAID


def test_a_sweep_is_recorded_once_however_often_and_cannot_be_changed(order: Order, coins: Chain, clock: Clock) -> None:
    address = to(order())
    coins.usdt.send(address, 9 * USD)
    coins.usdc.send(address, 10**20)
    coins.final()
    scan(clock)
    tx_hash = coins.sweep(coins.usdt, address, 4 * USD)
    coins.final()
    assert taken(tx_hash, clock) == taken(tx_hash.upper().replace("0X", "0x"), clock)
    row = Sweep.objects.get()
    assert (str(row.asset), int(row.amount), row.actor, row.reason) == ("usdt", 4 * USD, "operator:x", "to the vault")
    assert HighWater.objects.get(asset=Asset.USDT).balance == 5 * USD
    with pytest.raises(DatabaseError), transaction.atomic():
        Sweep.objects.update(amount=1)


def test_a_sweep_waits_until_it_is_final(order: Order, coins: Chain, clock: Clock) -> None:
    address = to(order())
    coins.usdt.send(address, USD)
    tx_hash = coins.sweep(coins.usdt, address, USD)
    with pytest.raises(NotFinal):
        taken(tx_hash, clock)
    coins.final()
    assert taken(tx_hash, clock)


@pytest.mark.parametrize("block", ["pause", "list"])
def test_a_sweep_that_the_token_refuses_is_an_alarm_and_nothing_else(
    order: Order, coins: Chain, clock: Clock, caplog: pytest.LogCaptureFixture, block: str
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    if block == "pause":
        coins.usdt.do("pause(bool)", True)
    else:
        coins.usdt.do("refuse(address)", to(wanted))
    tx_hash = coins.sweep(coins.usdt, to(wanted), USD)
    settle(coins, clock)
    with pytest.raises(SweepFailed):
        taken(tx_hash, clock)
    assert "a sweep failed" in caplog.messages
    assert (fresh(wanted).status, Sweep.objects.count()) == (OrderStatus.PAID, 0), "balances are read all the same"


@pytest.mark.parametrize("tx_hash", ["", "0x12", "0x" + "0" * 64, "é" * 66])
def test_what_is_no_transaction_is_no_sweep(order: Order, coins: Chain, clock: Clock, tx_hash: str) -> None:
    order()
    with pytest.raises(NoTransaction):
        taken(tx_hash, clock)


def test_a_transaction_of_somebody_else_is_no_sweep(order: Order, coins: Chain, clock: Clock) -> None:
    tx_hash = pays(coins.usdt, order())
    coins.final()
    with pytest.raises(NothingSwept):
        taken(tx_hash, clock)
    fake = coins.sweep(coins.fake, to(order()), 0)
    coins.final()
    with pytest.raises(NothingSwept):
        taken(fake, clock)


def test_while_no_node_answers_no_sweep_is_recorded(
    order: Order, coins: Chain, clock: Clock, proxy: RpcProxy, settings: Settings
) -> None:
    order()
    proxy.status = 500
    with pytest.raises(ChainUnreadable):
        taken("0x" + "1" * 64, clock)
    settings.CRYPTO_RPC_URLS, settings.CRYPTO_XPUB = [], ""
    with pytest.raises(ChainUnreadable):
        taken("0x" + "1" * 64, clock)


def test_the_tasks_do_nothing_without_settings(db: None) -> None:
    for task in (tasks.scan_chain, tasks.watch_chain, tasks.reread_chain, tasks.look_for_misplaced):
        task()


def test_the_tasks_find_what_was_paid(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    tasks.scan_chain()
    tasks.watch_chain()
    tasks.reread_chain()
    assert (fresh(wanted).status, fresh(wanted).deposits.count()) == (OrderStatus.PAID, 1)
