"""A token is not accepted any more: its orders end, others continue, and operators decide about later payments."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from agents.models import Agent, Desired
from billing import decisions, invariants
from billing.errors import MoneySeen
from billing.models import Deposit, Payment
from billing.providers.crypto import configuration, sweeps
from billing.vocabulary import Asset, OrderStatus
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import Clock, tick
from tests.billing.crypto import HOUR, Order, fresh, pays, settle, to, wait, watch
from tests.doubles.chain import Chain, TokenContract

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.django_db]

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED
DAY = timedelta(days=1)


def sells(settings: Settings, **tokens: TokenContract) -> None:
    """Set CRYPTO_TOKENS to these tokens from now on."""
    symbols = {"usdt": "USDT", "usdc": "USDC"}
    settings.CRYPTO_TOKENS = {
        name: f"{token.address}:{token.decimals}:{symbols[name]}" for name, token in tokens.items()
    }


def looks(coins: Chain, clock: Clock) -> None:
    for _ in range(2):
        settle(coins, clock)
        watch(clock)


def test_an_order_of_a_token_that_was_removed_ends_a_day_after_its_time_and_its_agent_goes_on_through_its_life(
    order: Order, coins: Chain, clock: Clock, settings: Settings, running: Agent
) -> None:
    wanted = order()
    sells(settings, usdc=coins.usdc)
    wait(coins, clock, 47 * HOUR)
    assert fresh(wanted).status == PENDING, "the settings may have been wrong for a while"
    wait(coins, clock, 2 * HOUR)
    assert fresh(wanted).status == EXPIRED
    for _ in range(60):
        clock.go(DAY)
        tick(running, clock)
    assert Agent.objects.get(pk=running.pk).desired == Desired.DELETED


@pytest.mark.parametrize("seen", [False, True], ids=["unseen", "seen"])
def test_what_comes_of_a_token_that_was_removed_is_an_operators_to_decide(
    order: Order, coins: Chain, clock: Clock, settings: Settings, seen: bool
) -> None:
    wanted = order()
    tx_hash = pays(coins.usdt, wanted) if seen else ""
    sells(settings, usdc=coins.usdc)
    tx_hash = tx_hash or pays(coins.usdt, wanted)
    looks(coins, clock)
    assert [one.tx_hash for one in decisions.undecided()] == [tx_hash]
    assert (fresh(wanted).status, Payment.objects.count()) == (PENDING, 0)
    decisions.send_back(decisions.undecided()[0], reason="sent back", actor="boss", now=clock.now)
    wait(coins, clock, 50 * HOUR)
    looks(coins, clock)
    assert fresh(wanted).status == EXPIRED
    assert not decisions.undecided().exists()
    assert invariants.broken(now=clock.now) == []


def test_what_had_come_in_part_before_its_token_was_removed_is_an_operators_to_decide_too(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    tx_hash = pays(coins.usdt, wanted, int(wanted.amount) // 2)
    looks(coins, clock)
    assert not decisions.undecided().exists()
    sells(settings, usdc=coins.usdc)
    looks(coins, clock)
    assert [one.tx_hash for one in decisions.undecided()] == [tx_hash]


def test_what_comes_long_after_its_token_was_removed_is_seen(
    order: Order, coins: Chain, clock: Clock, settings: Settings, running: Agent
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    looks(coins, clock)
    sells(settings, usdc=coins.usdc)
    wait(coins, clock, 30 * DAY)
    tx_hash = pays(coins.usdt, wanted)
    looks(coins, clock)
    assert [one.tx_hash for one in decisions.undecided()] == [tx_hash]
    swept = coins.sweep(coins.usdt, to(wanted), 2 * int(wanted.amount))
    coins.final()
    (row,) = sweeps.record(swept, reason="swept", actor="boss", now=clock.now)
    assert (row.asset, int(row.amount)) == ("usdt", 2 * int(wanted.amount))
    tick(running, clock)
    assert invariants.broken(now=clock.now) == []


def test_a_token_that_is_named_again_in_time_pays_what_waited(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    sells(settings, usdc=coins.usdc)
    looks(coins, clock)
    sells(settings, usdc=coins.usdc, usdt=coins.usdt)
    looks(coins, clock)
    assert fresh(wanted).status == PAID
    assert not decisions.undecided().exists()
    assert invariants.broken(now=clock.now) == []


def test_a_token_that_is_named_again_pays_nothing_with_what_is_decided(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    sells(settings, usdc=coins.usdc)
    looks(coins, clock)
    decisions.send_back(decisions.undecided()[0], reason="sent back", actor="boss", now=clock.now)
    sells(settings, usdc=coins.usdc, usdt=coins.usdt)
    looks(coins, clock)
    assert fresh(wanted).status == PENDING


def test_a_contract_that_is_gone_stops_no_other_order(
    order: Order, make_agent: MakeAgent, coins: Chain, clock: Clock, settings: Settings
) -> None:
    first = order()
    other = order(make_agent(), asset=Asset.USDC)
    coins.rpc("anvil_setCode", coins.usdt.address, "0x")
    sells(settings, usdc=coins.usdc)
    pays(coins.usdc, other)
    looks(coins, clock)
    assert fresh(other).status == PAID
    wait(coins, clock, 49 * HOUR)
    assert fresh(first).status == EXPIRED


def test_who_waited_with_a_removed_token_may_order_another_unless_money_came(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    first = order()
    sells(settings, usdc=coins.usdc)
    second = order(asset=Asset.USDC)
    assert (fresh(first).status, second.status) == (EXPIRED, PENDING)
    tx_hash = pays(coins.usdt, first)
    pays(coins.usdc, second)
    looks(coins, clock)
    assert fresh(second).status == PAID
    assert [one.tx_hash for one in decisions.undecided()] == [tx_hash]


def test_money_of_a_removed_token_is_on_its_way_for_whoever_orders_another(
    order: Order, coins: Chain, settings: Settings
) -> None:
    first = order()
    pays(coins.usdt, first)
    sells(settings, usdc=coins.usdc)
    with pytest.raises(MoneySeen):
        order(asset=Asset.USDC)


def test_a_coin_that_has_another_contract_now_is_not_paid_by_the_one_before(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    first = order()
    renewed = coins.deploy("USDT", 6)
    coins.mine(2)
    sells(settings, usdt=renewed, usdc=coins.usdc)
    wait(coins, clock, 49 * HOUR)
    assert fresh(first).status == EXPIRED
    second = order()
    old = pays(coins.usdt, first)
    looks(coins, clock)
    assert (fresh(first).status, fresh(second).status) == (EXPIRED, PENDING)
    assert [one.tx_hash for one in decisions.undecided()] == [old]
    new = pays(renewed, second)
    looks(coins, clock)
    assert fresh(second).status == PAID
    assert {one.tx_hash: one.order_id for one in Deposit.objects.all()} == {old: None, new: second.pk}
    assert invariants.broken(now=clock.now) == []


def test_what_was_paid_before_its_token_was_removed_is_not_taken_for_gone(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    """With a confirmation depth, payments are checked on the chain again for two hours."""
    settings.CRYPTO_CONFIRMATION = "depth:1"
    wanted = order()
    pays(coins.usdt, wanted)
    coins.mine()
    looks(coins, clock)
    assert fresh(wanted).status == PAID
    sells(settings, usdc=coins.usdc)
    clock.go(HOUR / 2)
    looks(coins, clock)
    assert not decisions.vanished().exists()


def test_nothing_is_sold_of_a_removed_token(order: Order, coins: Chain, settings: Settings) -> None:
    order()
    sells(settings, usdc=coins.usdc)
    known = configuration.current()
    assert known is not None
    assert list(known.tokens) == [Asset.USDC]
