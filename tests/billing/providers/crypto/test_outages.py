"""An hour without a chain, and reorganised chains: nobody loses money or time, and nothing counts twice."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from agents.models import Agent
from billing import invariants
from billing.models import Deposit, Payment
from billing.vocabulary import OrderStatus
from tests.agents.conftest import event_types
from tests.billing.conftest import Clock, tick
from tests.billing.crypto import HOUR, Order, fresh, looked, pays, scan, settle, state, wait, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED
FAULTS: dict[str, dict[str, object]] = {
    "500 from all": {"status": 500},
    "nonsense": {"body": b"<html>"},
    "no answer to what is asked": {"refuse": "eth_call"},
    "another chain": {"chain_id": 1},
    "far behind": {"behind": 50},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_who_pays_in_an_hour_without_the_chain_is_paid_after_it_and_not_late(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, running: Agent, fault: str
) -> None:
    coins.mine(60)
    wanted = order()
    wait(coins, clock, 23.5 * HOUR)
    for name, value in FAULTS[fault].items():
        setattr(proxy, name, value)
    tx_hash = pays(coins.usdt, wanted)
    coins.final()
    for _ in range(4):
        clock.go(HOUR / 4)
        scan(clock)
        watch(clock)
    assert (fresh(wanted).status, Payment.objects.count()) == (PENDING, 0)
    proxy.status, proxy.body, proxy.refuse, proxy.chain_id, proxy.behind = 200, None, None, None, 0
    coins.mine(at=clock.now)
    for _ in range(2):
        scan(clock)
        watch(clock)
    found = fresh(wanted)
    assert (found.status, found.late, found.tx_hash) == (PAID, False, tx_hash)
    assert found.expires_at >= wanted.expires_at + HOUR, "the outage is given back"
    assert (Payment.objects.count(), event_types(running).count("payment.confirmed")) == (1, 1)
    tick(running, clock)
    assert invariants.broken(now=clock.now) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_next_endpoint_is_asked_at_once(
    order: Order, coins: Chain, proxy: RpcProxy, settings: Settings, clock: Clock, fault: str
) -> None:
    coins.mine(60)
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    for name, value in FAULTS[fault].items():
        setattr(proxy, name, value)
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url, f"{coins.url}/"]
    scan(clock)
    assert fresh(wanted).status == PAID


def test_a_node_that_fails_in_the_middle_loses_all_of_its_answers(
    order: Order, coins: Chain, proxy: RpcProxy, settings: Settings, clock: Clock
) -> None:
    settings.CRYPTO_RPC_BATCH = 1
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    proxy.fails_after = proxy.requests + 4
    scan(clock)
    assert proxy.requests > proxy.fails_after
    assert state(wanted) == (PENDING, 0)
    proxy.fails_after = None
    scan(clock)
    assert state(wanted) == (PAID, int(wanted.amount))


def test_a_payment_that_comes_again_in_another_block_counts_once(
    order: Order, coins: Chain, clock: Clock, running: Agent
) -> None:
    wanted = order()
    tx_hash = pays(coins.usdt, wanted)
    scan(clock)
    before = coins.block_of(tx_hash)
    coins.mine()
    coins.reorganise(2, again=[coins.raw(tx_hash)])
    assert coins.block_of(tx_hash) != before, "the same transfer, in a block of another name"
    assert state(wanted)[0] == PENDING
    for _ in range(3):
        settle(coins, clock)
        watch(clock)
    row = Deposit.objects.get()
    assert (fresh(wanted).status, row.tx_hash, row.block_hash) == (PAID, tx_hash, coins.block_of(tx_hash))
    assert (Payment.objects.count(), event_types(running).count("payment.confirmed")) == (1, 1)


def test_a_deep_reorganisation_before_it_is_final_takes_back_what_was_seen(
    order: Order, coins: Chain, clock: Clock
) -> None:
    """The block before the newest is not final here, so both blocks may disappear."""
    wanted = order()
    pays(coins.usdt, wanted, int(wanted.amount) - 1)
    pays(coins.usdt, wanted, 1)
    scan(clock)
    assert state(wanted) == (PENDING, int(wanted.amount))
    coins.reorganise(2)
    settle(coins, clock)
    watch(clock)
    assert (state(wanted), Deposit.objects.count(), Payment.objects.count()) == ((PENDING, 0), 0, 0)


@pytest.mark.parametrize("behind", [1, 2, 3])
def test_a_scan_by_a_node_that_lags_a_little_concludes_nothing_too_early(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, behind: int
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    proxy.behind = behind
    clock.at(wanted.expires_at)
    looked(clock)
    scan(clock)
    assert fresh(wanted).status == PENDING, "not final by what it knows, and too early to give up"
    proxy.behind = 0
    scan(clock)
    assert (fresh(wanted).status, Payment.objects.count()) == (PAID, 1)


@pytest.mark.parametrize("left", [{"CRYPTO_RPC_URLS": [], "CRYPTO_XPUB": ""}, {"CRYPTO_CHAIN_ID": 8453}])
def test_an_order_of_a_chain_that_is_read_no_more_ends_and_its_agent_goes_on_through_its_life(
    order: Order, coins: Chain, clock: Clock, running: Agent, settings: Settings, left: dict[str, object]
) -> None:
    wanted = order()
    for name, value in left.items():
        setattr(settings, name, value)
    clock.go(47 * HOUR)
    scan(clock)
    assert state(wanted) == (PENDING, 0)
    clock.go(2 * HOUR)
    scan(clock)
    assert state(wanted) == (EXPIRED, 0)
    agent = running
    for _ in range(60):
        clock.go(24 * HOUR)
        agent = tick(agent, clock)
    assert agent.desired == "deleted"


def test_where_money_was_seen_an_order_waits_as_long_as_late_money_pays(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 1)
    scan(clock)
    settings.CRYPTO_RPC_URLS, settings.CRYPTO_XPUB = [], ""
    clock.go(14 * 24 * HOUR)
    scan(clock)
    assert state(wanted) == (PENDING, 1)
    clock.go(24 * HOUR)
    scan(clock)
    assert state(wanted) == (EXPIRED, 1)


def test_money_that_came_meanwhile_pays_once_the_chain_is_read_again(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted, urls, xpub = order(), settings.CRYPTO_RPC_URLS, settings.CRYPTO_XPUB
    settings.CRYPTO_RPC_URLS, settings.CRYPTO_XPUB = [], ""
    pays(coins.usdt, wanted)
    clock.go(50 * HOUR)
    scan(clock)
    assert fresh(wanted).status == EXPIRED
    settings.CRYPTO_RPC_URLS, settings.CRYPTO_XPUB = urls, xpub
    coins.mine(at=clock.now)
    coins.final()
    watch(clock)
    watch(clock)
    assert fresh(wanted).status == PAID
