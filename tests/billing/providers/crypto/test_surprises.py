"""Nodes that lie at odd moments, orders paid in the wrong order, and blocks that are replaced again and again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from billing import decisions
from billing.models import Deposit, Payment
from billing.providers.crypto import watching
from billing.vocabulary import OrderStatus
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, Order, fresh, pays, scan, settle, wait, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]


class Twice(RpcProxy):
    def _spoilt(self, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = super()._spoilt(call, answer)
        if call["method"] == "eth_getLogs" and isinstance(told.get("result"), list):
            return {**told, "result": told["result"] * 2}
        return told


def test_a_node_that_lied_when_the_order_was_placed_keeps_no_payment_from_it(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings
) -> None:
    """One of three nodes claims a balance of a million, when the order is placed and in scans after it."""
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url, f"{coins.url}/"]
    proxy.invents = 10**12
    wanted = order()
    for _ in range(3):
        coins.mine()
        scan(clock)
    pays(coins.usdt, wanted)
    for _ in range(3):
        settle(coins, clock)
        watch(clock)
        watching.reread(now=clock.now)
    assert fresh(wanted).status == OrderStatus.PAID


def test_each_unit_is_somebodys_when_three_orders_are_paid_in_the_wrong_order(
    order: Order, coins: Chain, clock: Clock
) -> None:
    """Orders A, B, C with different prices: A's price comes after B was placed, C's and B's after C was placed."""
    first = order(tier="small")
    wait(coins, clock, 25 * HOUR)
    watch(clock)
    second = order(tier="tiny")
    pays(coins.usdt, first)
    settle(coins, clock)
    watch(clock)
    wait(coins, clock, 25 * HOUR)
    watch(clock)
    third = order(tier="medium")
    pays(coins.usdt, second)
    settle(coins, clock)
    pays(coins.usdt, third)
    settle(coins, clock)
    for _ in range(2):
        watch(clock)
    came = int(first.amount + second.amount + third.amount)
    used = sum(int(row.amount or 0) for row in Payment.objects.filter(provider="usdt", unapplied=""))
    waits = sum(int(row.amount) for row in decisions.undecided())
    over = sum(int(row.over) for row in decisions.overpaid())
    assert used + waits == came, (used, waits, over, came, [fresh(one).status for one in (first, second, third)])


def test_a_payment_that_is_reorganised_twice_counts_once(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    settings.CRYPTO_CONFIRMATION = "depth:1"
    wanted = order()
    coins.mine()
    tx = pays(coins.usdt, wanted)
    raw = coins.raw(tx)
    coins.mine(2)
    scan(clock)
    watch(clock)
    assert fresh(wanted).status == OrderStatus.PAID
    for _ in range(2):
        coins.reorganise(3, again=[raw])
        coins.mine(2)
        clock.go(timedelta(minutes=11))
        scan(clock)
        watch(clock)
    second = order()
    coins.mine(2)
    scan(clock)
    watch(clock)
    assert (fresh(second).status, Payment.objects.count(), Deposit.objects.count()) == (OrderStatus.PENDING, 1, 1)
    assert not decisions.undecided().exists()
    assert not decisions.vanished().exists()


def test_a_node_that_tells_each_log_twice_doubles_nothing(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    node = Twice(coins.url)
    settings.CRYPTO_RPC_URLS = [node.url]
    try:
        wanted = order()
        pays(coins.usdt, wanted, int(wanted.amount) // 2 + 1)
        settle(coins, clock)
        for _ in range(2):
            watch(clock)
        assert fresh(wanted).status == OrderStatus.PENDING
    finally:
        node.stop()
