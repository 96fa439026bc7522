"""Orders in stablecoins on a real chain: which payments pay them, and when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.db import connection
from pytest_django import Settings

from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, invariants, prices
from billing.errors import MoneySeen, NotConfigured
from billing.models import CryptoOrder, Deposit, Payment, Subscription
from billing.providers.crypto import orders, watching
from billing.vocabulary import Asset, OrderStatus, Period
from catalog import snapshot
from catalog.models import Tier
from catalog.tiers import known_tier
from catalog.version import bump
from tests.agents.conftest import event_types
from tests.billing.conftest import DAY, Clock
from tests.billing.crypto import HOUR, USD, Order, fresh, pays, scan, settle, state, to, wait, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED


def test_what_came_before_the_order_does_not_count(coins: Chain, clock: Clock, order: Order, running: Agent) -> None:
    first = order()
    coins.usdt.send(to(first), 3 * USD)
    CryptoOrder.objects.update(status=EXPIRED)
    again = order()
    assert again.baseline == 3 * USD
    pays(coins.usdt, again, 2 * USD)
    settle(coins, clock)
    assert fresh(again).status == PENDING
    pays(coins.usdt, again, 3 * USD)
    settle(coins, clock)
    assert fresh(again).status == PAID


def test_the_exact_amount_pays(coins: Chain, clock: Clock, order: Order, running: Agent) -> None:
    wanted = order()
    tx_hash = pays(coins.usdt, wanted)
    scan(clock)
    assert state(wanted) == (PENDING, int(wanted.amount)), "seen, and not final yet"
    settle(coins, clock)
    found = fresh(wanted)
    assert (found.status, found.paid_at, found.tx_hash, found.late) == (PAID, clock.now, tx_hash, False)
    payment = Payment.objects.get()
    assert (payment.external_id, payment.amount, payment.currency) == (wanted.pk, Decimal(5 * USD), "usdt")
    assert payment.over == 0
    assert agent_terms.term(running, now=clock.now).paid_provider == "usdt"
    assert event_types(running).count("payment.confirmed") == 1


def test_one_unit_short_is_not_paid(coins: Chain, clock: Clock, order: Order) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 5 * USD - 1)
    settle(coins, clock)
    assert state(wanted) == (PENDING, 5 * USD - 1)


def test_what_is_paid_beyond_the_amount_is_written_down(coins: Chain, clock: Clock, order: Order) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 7 * USD)
    settle(coins, clock)
    assert (fresh(wanted).status, int(fresh(wanted).credited)) == (PAID, 7 * USD)
    assert Payment.objects.get().over == 2 * USD


def test_parts_add_up_and_the_one_that_reaches_the_amount_is_named(coins: Chain, clock: Clock, order: Order) -> None:
    wanted = order()
    hashes = [pays(coins.usdt, wanted, part * USD) for part in (2, 1, 2, 1)]
    settle(coins, clock)
    assert (fresh(wanted).status, fresh(wanted).tx_hash) == (PAID, hashes[2])
    assert set(Deposit.objects.values_list("tx_hash", flat=True)) == set(hashes)
    assert fresh(wanted).deposits.count() == 4


def test_the_same_order_again_is_the_pending_one(order: Order, proxy: RpcProxy) -> None:
    first = order()
    proxy.status = 500
    assert order() == first
    assert CryptoOrder.objects.count() == 1


def test_other_terms_replace_it_with_a_fresh_baseline(order: Order, coins: Chain, clock: Clock) -> None:
    first = order()
    second = order(period=Period.ANNUAL)
    assert (fresh(first).status, second.status) == (EXPIRED, PENDING)
    assert second.deposit_address == first.deposit_address


def test_other_terms_are_refused_once_money_was_seen(order: Order, coins: Chain) -> None:
    first = order()
    pays(coins.usdt, first, 1)
    with pytest.raises(MoneySeen):
        order(period=Period.ANNUAL)
    assert fresh(first).status == PENDING


def test_an_order_in_the_other_coin_takes_its_place(order: Order, coins: Chain, clock: Clock) -> None:
    first, second = order(), order(asset=Asset.USDC)
    assert (fresh(first).status, fresh(second).status) == (EXPIRED, PENDING)
    pays(coins.usdc, second)
    pays(coins.usdt, first)
    settle(coins, clock)
    watch(clock)
    assert (fresh(first).status, fresh(second).status, fresh(first).late) == (PAID, PAID, True)
    assert Subscription.objects.count() == 1
    assert Subscription.objects.get().current_period_end > clock.now + 58 * DAY, "paid twice, extended twice"


def test_one_deposit_pays_one_order(order: Order, coins: Chain, clock: Clock) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    second = order()
    settle(coins, clock)
    watch(clock)
    assert (fresh(first).status, fresh(second).status) == (PAID, PENDING)
    assert Payment.objects.count() == 1


def test_money_after_the_order_expired_still_pays_it(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    wait(coins, clock, 25 * HOUR)
    assert fresh(wanted).status == EXPIRED
    wait(coins, clock, 13 * DAY)
    tx_hash = pays(coins.usdt, wanted)
    settle(coins, clock)
    watch(clock)
    found = fresh(wanted)
    assert (found.status, found.late, found.tx_hash) == (PAID, True, tx_hash)
    assert Payment.objects.get().late


def test_with_a_newer_order_it_counts_for_that(order: Order, coins: Chain, clock: Clock) -> None:
    old = order()
    wait(coins, clock, 25 * HOUR)
    new = order()
    pays(coins.usdt, new)
    settle(coins, clock)
    watch(clock)
    assert (fresh(old).status, fresh(new).status, Payment.objects.count()) == (EXPIRED, PAID, 1)


@pytest.mark.parametrize("seen", [True, False])
def test_a_full_payment_to_an_expired_order_pays_it_though_another_was_placed(
    coins: Chain, clock: Clock, order: Order, seen: bool
) -> None:
    """The payment pays the old order without an operator, also if it was seen before the new order."""
    old = order()
    wait(coins, clock, 2 * DAY)
    assert fresh(old).status == EXPIRED
    tx_hash = pays(coins.usdt, old)
    if seen:
        coins.mine()
        watch(clock)
    new = order(tier="small")
    settle(coins, clock)
    watch(clock)
    watch(clock)
    found = fresh(old)
    assert (found.status, found.late, found.tx_hash) == (PAID, True, tx_hash)
    assert (fresh(new).status, int(fresh(new).seen)) == (PENDING, 0)
    assert (Deposit.objects.get().order, Payment.objects.get().order_id) == (found, old.pk)
    pays(coins.usdt, new)
    settle(coins, clock)
    assert fresh(new).status == PAID
    assert invariants.broken(now=clock.now) == []


def test_money_after_the_late_window_is_kept_for_operators(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    wait(coins, clock, 25 * HOUR)
    wait(coins, clock, 15 * DAY)
    pays(coins.usdt, wanted)
    settle(coins, clock)
    watch(clock)
    assert fresh(wanted).status == EXPIRED
    assert Deposit.objects.get().unapplied == "its order had expired more than 14 days before"


def test_money_for_a_deleted_agent_is_kept_for_operators(
    order: Order, coins: Chain, clock: Clock, running: Agent
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    settle(coins, clock)
    lifecycle.delete(running, actor="user:x")
    pays(coins.usdt, wanted)
    coins.final()
    watch(clock)
    assert Deposit.objects.filter(order=None).get().unapplied == "the agent is deleted"


def test_the_other_coin_and_fakes_pay_nothing(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    coins.usdc.send(to(wanted), 10**20)
    coins.fake.send(to(wanted), 10**20)
    settle(coins, clock)
    watch(clock)
    assert fresh(wanted).status == PENDING
    assert [(row.asset, row.unapplied) for row in Deposit.objects.all()] == [("usdc", "no order was open for it")]


def test_the_event_of_a_fake_token_is_ignored(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    coins.fake.do("announce(address,uint256)", to(wanted), int(wanted.amount))
    settle(coins, clock)
    watch(clock)
    assert (fresh(wanted).status, Deposit.objects.count()) == (PENDING, 0)


def test_a_transfer_of_nothing_is_ignored(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 0)
    settle(coins, clock)
    assert (fresh(wanted).status, Deposit.objects.count()) == (PENDING, 0)


def test_eighteen_decimals_are_exact(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order(asset=Asset.USDC, period=Period.ANNUAL)
    assert wanted.amount == wanted.price_usd * 10**18
    pays(coins.usdc, wanted, int(wanted.amount) - 1)
    settle(coins, clock)
    assert fresh(wanted).status == PENDING
    pays(coins.usdc, wanted, 1)
    settle(coins, clock)
    assert (fresh(wanted).status, Payment.objects.get().amount) == (PAID, wanted.amount)


def test_a_price_is_never_rounded_down() -> None:
    assert orders.in_units(Decimal("0.29"), 6) == 290_000
    assert orders.in_units(Decimal("1.10"), 18) == 11 * 10**17
    assert orders.in_units(Decimal("9.99"), 1) == 100


def test_a_fee_on_the_transfer_leaves_a_rest_to_pay(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    coins.usdt.do("set_fee(uint256)", 1)
    pays(coins.usdt, wanted)
    settle(coins, clock)
    assert state(wanted) == (PENDING, 4_950_000)
    pays(coins.usdt, wanted, 60_000)
    settle(coins, clock)
    assert (fresh(wanted).status, Payment.objects.get().over) == (PAID, Decimal(9_400))


def test_a_paused_token_can_still_be_read(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    coins.usdt.do("pause(bool)", True)
    settle(coins, clock)
    assert fresh(wanted).status == PAID


@pytest.mark.parametrize("told", ["18:USDT", "6:USDC"])
def test_a_token_that_is_not_what_the_settings_say_turns_stablecoins_off(
    order: Order, coins: Chain, clock: Clock, settings: Settings, caplog: pytest.LogCaptureFixture, told: str
) -> None:
    right = settings.CRYPTO_TOKENS
    settings.CRYPTO_TOKENS = {"usdt": f"{coins.usdt.address}:{told}"}
    with pytest.raises(NotConfigured):
        order()
    assert [record.levelname for record in caplog.records if "stablecoins are off" in record.message] == ["CRITICAL"]
    assert (orders.info().enabled, CryptoOrder.objects.count()) == (False, 0)
    settings.CRYPTO_TOKENS = right
    watching.reread(now=clock.now)
    assert orders.info().enabled


@pytest.mark.django_db(transaction=True)
def test_scanners_that_run_at_once_pay_once(order: Order, coins: Chain, clock: Clock, running: Agent) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()

    def look(_: int) -> None:
        try:
            scan(clock)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(look, range(8)))
    assert (fresh(wanted).status, Payment.objects.count(), Subscription.objects.count()) == (PAID, 1, 1)
    assert event_types(running).count("payment.confirmed") == 1


def test_the_plan_as_it_was_ordered_decides(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order(tier="small")
    assert wanted.tier_snapshot["period"] == "monthly"
    Tier.objects.filter(pk="small").update(monthly_usd=Decimal(99))
    bump()
    snapshot.forget()
    assert prices.price_of(known_tier("small"), Period.MONTHLY) == 99
    pays(coins.usdt, wanted)
    settle(coins, clock)
    row = Subscription.objects.get()
    assert row.price_usd != 99
    assert (row.price_usd, row.tier_snapshot, row.tier) == (wanted.price_usd, wanted.tier_snapshot, "small")


def test_an_order_of_a_deleted_agent_expires_and_its_money_is_kept(
    order: Order, coins: Chain, clock: Clock, running: Agent
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    lifecycle.delete(running, actor="user:x")
    settle(coins, clock)
    assert fresh(wanted).status == EXPIRED
    assert Payment.objects.get().unapplied == Deposit.objects.get().unapplied == "the agent is deleted"
