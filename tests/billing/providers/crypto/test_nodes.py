"""Orders in stablecoins when the chain reorganises, and when nodes lag, lie, fail, or know little."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from agents.models import Agent
from billing import decisions, invariants
from billing.models import ChainState, CryptoOrder, Deposit, DepositAddress, Payment
from billing.providers.crypto.errors import ChainUnreadable
from billing.vocabulary import Asset, OrderStatus
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, SECOND, USD, Order, fresh, looked, pays, scan, settle, state, to, wait, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.unmeasured, pytest.mark.django_db]

PENDING, PAID, EXPIRED = OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.EXPIRED


def test_what_a_reorganisation_drops_is_not_paid_and_counts_once_when_it_comes_again(
    order: Order, coins: Chain, clock: Clock
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    scan(clock)
    assert fresh(wanted).seen == wanted.amount
    coins.reorganise(1)
    settle(coins, clock)
    assert state(wanted) == (PENDING, 0)
    pays(coins.usdt, wanted)
    settle(coins, clock)
    scan(clock)
    assert (fresh(wanted).status, Payment.objects.count()) == (PAID, 1)


def test_a_baseline_whose_block_was_dropped_is_read_again(order: Order, coins: Chain, clock: Clock) -> None:
    address = to(order())
    CryptoOrder.objects.update(status=EXPIRED)
    coins.usdt.send(address, 5 * USD)
    wanted = order()
    assert wanted.baseline == 5 * USD
    coins.reorganise(1)
    pays(coins.usdt, wanted)
    settle(coins, clock)
    settle(coins, clock)
    found = fresh(wanted)
    assert found.baseline_final
    assert (int(found.baseline), found.status) == (0, PAID), "the customer's own payment counts"


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_payment_that_comes_again_in_the_baselines_block_or_before_it_pays(
    order: Order, coins: Chain, clock: Clock, at: int
) -> None:
    coins.mine(at=clock.now - HOUR)
    coins.mine(at=clock.now - 10 * SECOND)
    coins.mine(2)
    wanted = order()
    tx_hash = pays(coins.usdt, wanted)
    coins.reorganise(3, again=[coins.raw(tx_hash)], at=at)
    for _ in range(3):
        settle(coins, clock)
        watch(clock)
    found = fresh(wanted)
    assert (found.status, found.tx_hash, int(found.credited)) == (PAID, tx_hash, int(wanted.amount))
    assert Deposit.objects.get().order_id == wanted.pk
    assert invariants.broken(now=clock.now) == []


def test_what_paid_the_order_before_pays_no_second_one_where_the_baselines_block_was_replaced(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    settings.CRYPTO_CONFIRMATION = "depth:1"
    first = order()
    paid = pays(coins.usdt, first)
    coins.mine(1)
    scan(clock)
    assert fresh(first).status == PAID
    second = order()
    coins.reorganise(2, again=[coins.raw(paid)], at=1)
    for _ in range(3):
        settle(coins, clock)
        watch(clock)
    assert (fresh(second).status, int(fresh(second).baseline)) == (PENDING, int(first.amount))
    pays(coins.usdt, second)
    settle(coins, clock)
    assert (fresh(second).status, int(fresh(second).credited)) == (PAID, int(second.amount))


@pytest.mark.parametrize("behind", [1, 3])
def test_a_node_that_lags_cannot_make_old_money_pay(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, behind: int
) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    pays(coins.usdt, first, 5 * USD)
    scan(clock)
    proxy.behind = behind
    second = order()
    proxy.behind = 0
    settle(coins, clock)
    settle(coins, clock)
    assert (fresh(second).status, int(fresh(second).baseline)) == (PENDING, 10 * USD)


def test_a_node_that_is_far_behind_is_not_believed(
    order: Order, coins: Chain, proxy: RpcProxy, settings: Settings
) -> None:
    coins.mine(20)
    order()
    proxy.behind = 5
    with pytest.raises(ChainUnreadable):
        order(asset=Asset.USDC)
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url]
    assert order(asset=Asset.USDC).status == PENDING, "the next one is asked"


def test_nothing_expires_while_the_chain_cannot_be_read_and_the_time_is_given_back(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock
) -> None:
    wanted = order()
    wait(coins, clock, 20 * HOUR)
    proxy.status = 500
    for _ in range(5):
        clock.go(HOUR)
        scan(clock)
    assert fresh(wanted).status == PENDING
    proxy.status = 200
    coins.mine(at=clock.now)
    scan(clock)
    assert (fresh(wanted).status, fresh(wanted).expires_at) == (PENDING, wanted.expires_at + 5 * HOUR)
    wait(coins, clock, 5 * HOUR)
    assert fresh(wanted).status == EXPIRED


def test_a_node_that_does_not_know_of_that_time_expires_nothing(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    clock.at(wanted.expires_at + HOUR)
    looked(clock)
    scan(clock)
    assert fresh(wanted).status == PENDING
    coins.mine(at=clock.now)
    scan(clock)
    assert fresh(wanted).status == EXPIRED


def test_money_that_is_not_final_yet_is_waited_for(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    clock.at(wanted.expires_at)
    coins.mine(at=clock.now)
    pays(coins.usdt, wanted)
    looked(clock)
    scan(clock)
    assert fresh(wanted).status == PENDING
    settle(coins, clock)
    assert (fresh(wanted).status, fresh(wanted).late) == (PAID, False)


@pytest.mark.parametrize("fault", ["status", "body", "refuse"])
def test_without_a_node_there_is_no_order(order: Order, proxy: RpcProxy, fault: str) -> None:
    setattr(proxy, fault, {"status": 503, "body": b'{"jsonrpc": "2.0"}', "refuse": "eth_call"}[fault])
    with pytest.raises(ChainUnreadable):
        order()
    assert not CryptoOrder.objects.exists()


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, b'[{"id": 0, "result": ' + b"[" * 100_000, b" " * (33 * 2**20), b'[{"id": 0, "result": NaN}]'],
)
def test_a_node_that_answers_without_end_or_bottom_is_not_believed(order: Order, proxy: RpcProxy, body: bytes) -> None:
    proxy.body = body
    with pytest.raises(ChainUnreadable):
        order()
    assert not CryptoOrder.objects.exists()


def test_a_node_of_another_chain_is_dropped_with_an_alarm(
    order: Order, coins: Chain, proxy: RpcProxy, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.chain_id = 1
    with pytest.raises(ChainUnreadable):
        order()
    assert "an RPC endpoint is of another chain" in caplog.messages
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url, f"{coins.url}/"]
    assert order().chain_id == 31337


@pytest.mark.parametrize("fault", ["no_logs", "refuse"])
def test_a_balance_alone_pays_nothing(order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, fault: str) -> None:
    wanted = order()
    tx_hash = pays(coins.usdt, wanted)
    setattr(proxy, fault, {"no_logs": True, "refuse": "eth_getLogs"}[fault])
    settle(coins, clock)
    watch(clock)
    assert state(wanted) == (PENDING, int(wanted.amount))
    setattr(proxy, fault, {"no_logs": False, "refuse": None}[fault])
    settle(coins, clock)
    watch(clock)
    found = fresh(wanted)
    assert (found.status, found.tx_hash, Deposit.objects.get().order) == (PAID, tx_hash, found)


@pytest.mark.parametrize("honest", [1, 2])
def test_one_node_that_lies_pays_nothing(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings, honest: int
) -> None:
    wanted = order(asset=Asset.USDC)
    settings.CRYPTO_RPC_URLS = [proxy.url, *(f"{coins.url}/{'' if number else '?'}" for number in range(honest))]
    proxy.invents = int(wanted.amount)
    for _ in range(3):
        coins.mine()
        settle(coins, clock)
        watch(clock)
    assert (fresh(wanted).status, Payment.objects.count()) == (PENDING, 0)
    proxy.invents = 0
    pays(coins.usdc, wanted)
    settle(coins, clock)
    assert (fresh(wanted).status, int(fresh(wanted).credited)) == (PAID, int(wanted.amount))


def test_what_one_node_made_up_is_no_money_that_an_operator_could_send_back(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    settle(coins, clock)
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url, f"{coins.url}/"]
    proxy.invents = 5 * USD
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    proxy.invents = 0
    assert not decisions.undecided().exists()
    pays(coins.usdt, wanted)
    settle(coins, clock)
    watch(clock)
    assert [row.amount for row in decisions.undecided()] == [wanted.amount]


def test_a_minority_that_is_away_holds_nothing_up(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    settings.CRYPTO_RPC_URLS = [coins.url, proxy.url, f"{coins.url}/"]
    proxy.status = 500
    pays(coins.usdt, wanted)
    settle(coins, clock)
    assert fresh(wanted).status == PAID


def test_while_most_nodes_are_away_nothing_is_paid_and_nothing_is_lost(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings
) -> None:
    wanted = order()
    settings.CRYPTO_RPC_URLS = [coins.url, proxy.url]
    proxy.status = 500
    pays(coins.usdt, wanted)
    settle(coins, clock)
    assert fresh(wanted).status == PENDING
    wait(coins, clock, 30 * HOUR)
    proxy.status = 200
    settle(coins, clock)
    watch(clock)
    assert fresh(wanted).status == PAID


@pytest.mark.parametrize("confirmation", ["safe", "depth:1"])
def test_how_final_is_final_enough_is_a_setting(
    order: Order, coins: Chain, clock: Clock, settings: Settings, confirmation: str
) -> None:
    settings.CRYPTO_CONFIRMATION = confirmation
    wanted = order()
    pays(coins.usdt, wanted)
    scan(clock)
    assert fresh(wanted).status == PENDING
    coins.mine()
    scan(clock)
    assert fresh(wanted).status == PAID


@pytest.mark.unmeasured
@pytest.mark.slow
def test_a_thousand_orders_are_read_in_twelve_requests_and_one_for_the_names_of_their_blocks(
    order: Order, make_agent: MakeAgent, coins: Chain, proxy: RpcProxy, clock: Clock
) -> None:
    _many(999, like=order(), template=make_agent(), clock=clock)
    coins.mine(5)  # so that the newest block, the final block and the baseline's block are different
    before = proxy.requests
    scan(clock)
    assert CryptoOrder.objects.filter(baseline_final=True).count() == 1000
    assert proxy.requests - before <= 13
    with CaptureQueriesContext(connection) as queries:
        scan(clock)
    assert len(queries) < 20, "nothing has changed, so there is nothing to write for any of them"


@pytest.mark.unmeasured
def test_however_many_orders_a_node_lies_about_each_node_is_asked_once_about_all(
    order: Order, make_agent: MakeAgent, coins: Chain, proxy: RpcProxy, clock: Clock, settings: Settings
) -> None:
    """A hanging node, or a liar that is asked first, costs a scan no more time for a thousand orders than for one."""
    wanted = order()
    _many(299, like=wanted, template=make_agent(), clock=clock)
    settings.CRYPTO_RPC_URLS = [proxy.url, coins.url, f"{coins.url}/"]
    pays(coins.usdt, wanted)
    coins.mine(5)
    scan(clock)
    proxy.invents = int(wanted.amount)
    before = proxy.requests
    settle(coins, clock)
    assert proxy.requests - before <= 20
    paid = CryptoOrder.objects.filter(status=PAID)
    assert [one.pk for one in paid] == [wanted.pk]


def _many(count: int, *, like: CryptoOrder, template: Agent, clock: Clock) -> None:
    """More such orders, each for its own agent."""
    agents = [Agent(**_copied(template, number)) for number in range(count)]
    Agent.objects.bulk_create(agents, batch_size=500)
    for number, agent in enumerate(agents):
        address = DepositAddress.objects.create(
            agent=agent, account="test", hd_index=number, address=f"0x{number + 1:040X}", created_at=clock.now
        )
        order_ = fresh(like)
        order_.pk = order_.id = f"cry_{number:024x}"
        order_.order_ptr_id, order_.agent, order_.deposit_address = order_.pk, agent, address
        order_.save(force_insert=True)


def _copied(agent: Agent, number: int) -> dict[str, object]:
    values = {field.attname: getattr(agent, field.attname) for field in Agent._meta.concrete_fields}
    return {**values, "id": f"agt_{number:024x}", "suffix": f"s{number}", "slug": f"copy-{number}"}


def test_a_node_that_told_of_a_block_that_never_was_is_forgotten(order: Order, coins: Chain, clock: Clock) -> None:
    order()
    ChainState.objects.update(head=10**9)
    with pytest.raises(ChainUnreadable):
        order(asset=Asset.USDC)
    clock.go(HOUR)
    coins.mine(at=clock.now)
    assert order(asset=Asset.USDC).baseline_block == coins.head


def test_a_node_that_gives_transfers_of_few_blocks_is_asked_for_fewer(
    order: Order, coins: Chain, proxy: RpcProxy, clock: Clock
) -> None:
    wanted = order()
    coins.mine(20)
    tx_hash = pays(coins.usdt, wanted)
    coins.mine(20)
    proxy.max_span = 3
    scan(clock)
    assert fresh(wanted).tx_hash == tx_hash


def test_a_transfer_that_is_read_twice_is_one_row(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 1)
    settle(coins, clock)
    ChainState.objects.update(pending_to=0, all_to=0)
    settle(coins, clock)
    watch(clock)
    assert Deposit.objects.count() == 1
