"""Several nodes, one of which hides or invents money, or calls it final before the others do: nobody loses money."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from billing import decisions, invariants
from billing.models import ChainState, Deposit
from billing.vocabulary import OrderStatus, Period
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, Order, fresh, pays, settle, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


@pytest.fixture
def first(coins: Chain, settings: Settings) -> Iterator[RpcProxy]:
    """The first of three nodes; the other two are honest."""
    double = RpcProxy(coins.url)
    settings.CRYPTO_RPC_URLS = [double.url, coins.url, f"{coins.url}/"]
    yield double
    double.stop()


def test_a_second_payment_that_only_one_node_calls_final_is_not_swallowed_by_the_first(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    """Both payments are final for the first node, but only one of them is final for the other nodes."""
    slow = RpcProxy(coins.url)
    settings.CRYPTO_RPC_URLS = [coins.url, slow.url, f"{slow.url}/"]
    slow.late_final = 4
    wanted = order()
    pays(coins.usdt, wanted)
    coins.mine(5)
    second = pays(coins.usdt, wanted)
    settle(coins, clock)
    assert (fresh(wanted).status, int(fresh(wanted).credited)) == (OrderStatus.PAID, int(wanted.amount))
    slow.late_final = 0
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    slow.stop()
    assert [deposit.tx_hash for deposit in decisions.undecided()] == [second]
    assert invariants.broken(now=clock.now) == []


def test_what_came_for_no_order_is_an_operators_to_decide_though_one_node_leaves_it_out(
    order: Order, coins: Chain, clock: Clock, first: RpcProxy
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    settle(coins, clock)
    watch(clock)
    first.no_logs = True
    second = pays(coins.usdt, wanted)
    coins.final()
    watch(clock)
    assert [deposit.tx_hash for deposit in decisions.undecided()] == [second]


def test_a_node_that_hides_balances_and_transfers_keeps_no_order_from_being_paid(
    order: Order, coins: Chain, clock: Clock, first: RpcProxy
) -> None:
    wanted = order()
    first.hides = first.no_logs = True
    pays(coins.usdt, wanted)
    coins.final()
    watch(clock)
    settle(coins, clock)
    assert fresh(wanted).status == OrderStatus.PAID


def test_a_node_that_makes_up_newer_blocks_silences_no_other(
    order: Order, coins: Chain, clock: Clock, first: RpcProxy
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    first.ahead = 1000
    settle(coins, clock)
    watch(clock)
    assert fresh(wanted).status == OrderStatus.PAID
    first.ahead = 0
    settle(coins, clock)
    watch(clock)
    assert Deposit.objects.get().order_id == wanted.pk


def test_a_node_that_made_up_newer_blocks_once_keeps_no_later_order_from_being_paid(
    order: Order, coins: Chain, clock: Clock, first: RpcProxy
) -> None:
    before = order()
    first.ahead = 10**9
    pays(coins.usdt, before)
    settle(coins, clock)
    assert fresh(before).status == OrderStatus.PAID
    first.ahead = 0
    clock.go(HOUR)
    coins.mine(at=clock.now)
    ChainState.objects.update(all_to=10**9)
    later = order(period=Period.ANNUAL)
    pays(coins.usdt, later)
    settle(coins, clock)
    watch(clock)
    assert fresh(later).status == OrderStatus.PAID
    assert ChainState.objects.get().all_to < coins.head


@pytest.mark.parametrize(
    "nonsense",
    [{"data": "0x" + "f" * 80}, {"blockNumber": hex(2**70)}, {"logIndex": hex(2**40)}, {"transactionHash": "0x\0"}],
    ids=["amount", "block", "place", "hash"],
)
def test_a_node_that_tells_what_no_chain_has_stops_nobody(
    order: Order, coins: Chain, clock: Clock, first: RpcProxy, nonsense: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = order()
    honest = RpcProxy._spoilt

    def spoilt(proxy: RpcProxy, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = honest(proxy, call, answer)
        is_logs = call["method"] == "eth_getLogs"
        return {**told, "result": [{**one, **nonsense} for one in told["result"]]} if is_logs else told

    monkeypatch.setattr(RpcProxy, "_spoilt", spoilt)
    pays(coins.usdt, wanted)
    settle(coins, clock)
    watch(clock)
    assert fresh(wanted).status == OrderStatus.PAID


class WrongBlocks(RpcProxy):
    """A node that reports each transfer twice, both times in a wrong block."""

    def _spoilt(self, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = super()._spoilt(call, answer)
        if call["method"] != "eth_getLogs":
            return told
        moved = {"blockNumber": "0x1", "blockHash": "0x" + "22" * 32}
        return {
            **told,
            "result": [{**one, **moved, "logIndex": place} for one in told["result"] for place in ("0x7", "0x0")],
        }


def test_a_transfer_is_one_row_in_the_place_that_most_nodes_say_whatever_one_says_of_it(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    """Otherwise an operator could give out the money of a paid order once more."""
    liar = WrongBlocks(coins.url)
    settings.CRYPTO_RPC_URLS = [liar.url, coins.url, f"{coins.url}/"]
    wanted = order()
    pays(coins.usdt, wanted)
    for _ in range(3):
        settle(coins, clock)
        watch(clock)
    liar.stop()
    assert fresh(wanted).status == OrderStatus.PAID
    assert list(Deposit.objects.exclude(order=None).values_list("order", "block")) == [(wanted.pk, coins.head - 6)]
    assert not decisions.undecided().exists()
