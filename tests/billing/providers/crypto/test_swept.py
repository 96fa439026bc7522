"""Money that came for an order and was swept: the balance plus the recorded sweep must show it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from billing import invariants
from billing.errors import MoneySeen
from billing.models import CryptoOrder, Deposit, Payment
from billing.providers.crypto import sweeps
from billing.vocabulary import Asset, OrderStatus
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import HOUR, USD, Order, fresh, pays, settle, state, to, wait, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.django_db]

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED
GONE = "money came for an order, but the address does not have it: was it swept?"


def look(chain: Chain, clock: Clock, times: int = 2) -> None:
    for _ in range(times):
        settle(chain, clock)
        watch(clock)


def sweep(chain: Chain, order: CryptoOrder, amount: int | None = None) -> str:
    """Sweep and make it final before any scan, so that no scan sees the money in the balance."""
    tx_hash = chain.sweep(chain.usdt, to(order), int(order.amount) if amount is None else amount)
    chain.final()
    return tx_hash


def record(tx_hash: str, clock: Clock) -> None:
    sweeps.record(tx_hash, reason="to the vault", actor="operator:x", now=clock.now)


@pytest.mark.parametrize("honest", [0, 1, 2])
def test_a_node_that_makes_up_transfers_alone_pays_nothing(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings, honest: int
) -> None:
    settings.CRYPTO_RPC_URLS = [proxy.url, *(f"{coins.url}/{'' if number else '?'}" for number in range(honest))]
    wanted = order(asset=Asset.USDC)
    proxy.invents, proxy.true_balances = int(wanted.amount), True
    look(coins, clock, times=3)
    assert (fresh(wanted).status, Payment.objects.count()) == (PENDING, 0)


def test_a_recorded_sweep_of_other_money_makes_no_transfer_true(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock
) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    second = order()
    tx_hash = sweep(coins, first)
    record(tx_hash, clock)
    proxy.invents, proxy.true_balances = int(second.amount), True
    look(coins, clock, times=3)
    assert (fresh(second).status, Payment.objects.count()) == (PENDING, 1)


def test_what_was_swept_too_early_pays_once_the_sweep_is_recorded(
    order: Order, coins: Chain, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = order()
    paid_by = pays(coins.usdt, wanted)
    tx_hash = sweep(coins, wanted)
    look(coins, clock)
    assert fresh(wanted).status == PENDING, "the balance is that of before"
    assert GONE in caplog.messages
    record(tx_hash, clock)
    look(coins, clock)
    assert (state(wanted), fresh(wanted).tx_hash, fresh(wanted).late) == ((PAID, int(wanted.amount)), paid_by, False)
    assert invariants.broken(now=clock.now) == []


def test_a_sweep_of_the_money_of_before_hides_no_payment(order: Order, coins: Chain, clock: Clock) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    second = order()
    tx_hash = sweep(coins, first)
    pays(coins.usdt, second)
    look(coins, clock)
    assert fresh(second).status == PENDING
    record(tx_hash, clock)
    look(coins, clock)
    assert (fresh(second).status, int(fresh(second).credited)) == (PAID, int(second.amount))
    assert invariants.broken(now=clock.now) == []


def test_other_terms_are_refused_though_what_came_was_swept(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted, USD)
    record(sweep(coins, wanted, USD), clock)
    with pytest.raises(MoneySeen):
        order(tier="small")
    assert fresh(wanted).status == PENDING


def test_an_order_with_a_part_that_was_swept_waits_for_the_rest_that_is_on_its_way(
    order: Order, coins: Chain, clock: Clock
) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 3 * USD)
    tx_hash = sweep(coins, wanted, 3 * USD)
    record(tx_hash, clock)
    wait(coins, clock, 23 * HOUR)
    clock.at(wanted.expires_at)
    coins.mine(at=clock.now)
    pays(coins.usdt, wanted, 2 * USD)
    settle(coins, clock)
    assert (state(wanted), fresh(wanted).late) == ((PAID, 5 * USD), False)


def test_a_sweep_that_is_recorded_within_14_days_still_pays_its_order(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    tx_hash = sweep(coins, wanted)
    wait(coins, clock, 25 * HOUR)
    assert fresh(wanted).status == EXPIRED
    wait(coins, clock, 13 * DAY)
    watch(clock)
    record(tx_hash, clock)
    watch(clock)
    assert (fresh(wanted).status, fresh(wanted).late, Payment.objects.count()) == (PAID, True, 1)


def test_a_sweep_that_is_recorded_when_another_order_waits_pays_the_one_that_the_money_came_for(
    order: Order, coins: Chain, clock: Clock
) -> None:
    old = order()
    wait(coins, clock, 2 * DAY)
    pays(coins.usdt, old)
    tx_hash = sweep(coins, old)
    record(tx_hash, clock)
    new = order(tier="small")
    look(coins, clock)
    assert (fresh(old).status, fresh(new).status, Payment.objects.get().order_id) == (PAID, PENDING, old.pk)
    assert invariants.broken(now=clock.now) == []


def test_what_a_sweep_took_that_nobody_recorded_is_an_operators_to_decide(
    order: Order, coins: Chain, clock: Clock
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    sweep(coins, wanted)
    wait(coins, clock, 16 * DAY)
    watch(clock)
    assert (fresh(wanted).status, Payment.objects.count()) == (EXPIRED, 0)
    assert Deposit.objects.get().unapplied == "its order had expired more than 14 days before"


def test_with_two_nodes_a_sweep_that_one_of_them_made_up_pays_nothing(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings
) -> None:
    """Both nodes must report the transfer, however much was swept."""
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    second = order()
    tx_hash = sweep(coins, first)
    record(tx_hash, clock)
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url]
    proxy.invents = int(second.amount)
    clock.go(timedelta(minutes=1))
    look(coins, clock, times=3)
    assert (fresh(second).status, Payment.objects.count()) == (PENDING, 1)
