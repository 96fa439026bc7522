"""The balance of an address before an order is what most nodes say, even if one node lies while the order is placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.models import Agent
from billing import decisions, invariants
from billing.models import ChainState, CryptoOrder
from billing.providers.crypto import watching
from billing.vocabulary import Asset, OrderStatus
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, SECOND, Order, fresh, pays, scan, settle, state, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

NEWEST = {"jsonrpc": "2.0", "id": 0, "method": "eth_blockNumber", "params": []}
NO_ARGUMENTS = len("0x") + 8  # the length of call data without arguments


class Liar(RpcProxy):
    """A node that reports other block hashes, other times or another token."""

    other_hashes = False
    other_symbol = False
    all_new = False  # every block, however old, seems to be from this minute

    def _spoilt(self, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = super()._spoilt(call, answer)
        if call["method"] == "eth_getBlockByNumber" and self.other_hashes:
            return {**told, "result": {**told["result"], "hash": "0x" + "44" * 32}}
        if call["method"] == "eth_getBlockByNumber" and self.all_new:
            return {**told, "result": {**told["result"], "timestamp": hex(2**33)}}
        if call["method"] == "eth_call" and len(call["params"][0]["data"]) == NO_ARGUMENTS and self.other_symbol:
            return {**told, "result": f"0x{1:064x}"}
        return told


class Forgetful(RpcProxy):
    """A node that has forgotten the state before a block, as most nodes do after a while."""

    before = 0

    def _spoilt(self, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = super()._spoilt(call, answer)
        if call["method"] == "eth_call" and int(call["params"][1], 16) < self.before:
            return {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32000, "message": "missing trie node"}}
        return told


@pytest.fixture
def honest(coins: Chain) -> Iterator[Forgetful]:
    double = Forgetful(coins.url)
    yield double
    double.stop()


@pytest.fixture
def liar(coins: Chain, honest: Forgetful, settings: Settings) -> Iterator[Liar]:
    """The first of three nodes; the other two are honest."""
    double = Liar(coins.url)
    settings.CRYPTO_RPC_URLS = [double.url, honest.url, f"{honest.url}/"]
    yield double
    double.stop()


LIES: dict[str, dict[str, object]] = {
    "more lies there": {"invents": 10**12},
    "nothing lies there": {"hides": True},
    "a little newer": {"ahead": 3},
    "much newer": {"ahead": 10**6},
    "older": {"behind": 3},
    "much older": {"behind": 20},
    "another block": {"other_hashes": True},
    "another token": {"other_symbol": True},
}
TRUE = {"invents": 0, "hides": False, "ahead": 0, "behind": 0, "other_hashes": False, "other_symbol": False}


def says(node: Liar, words: Mapping[str, object]) -> None:
    for name, value in words.items():
        setattr(node, name, value)


@pytest.mark.parametrize("lie", LIES)
def test_a_node_that_lies_while_an_order_is_placed_keeps_no_payment_from_it(
    order: Order, coins: Chain, clock: Clock, liar: Liar, lie: str
) -> None:
    coins.mine(30)
    says(liar, LIES[lie])
    wanted = order()
    says(liar, TRUE)
    pays(coins.usdt, wanted)
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    assert (fresh(wanted).status, int(fresh(wanted).credited)) == (OrderStatus.PAID, int(wanted.amount))
    assert not decisions.undecided().exists()
    assert invariants.broken(now=clock.now) == []


@pytest.mark.parametrize("lie", LIES)
def test_what_lay_there_before_pays_no_order_whatever_one_node_says(
    order: Order, coins: Chain, clock: Clock, liar: Liar, lie: str
) -> None:
    first = order()
    pays(coins.usdt, first)
    settle(coins, clock)
    assert fresh(first).status == OrderStatus.PAID
    coins.mine(30)
    says(liar, LIES[lie])
    second = order()
    says(liar, TRUE)
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    assert state(second) == (OrderStatus.PENDING, 0)
    pays(coins.usdt, second)
    settle(coins, clock)
    assert (fresh(second).status, int(fresh(second).credited)) == (OrderStatus.PAID, int(second.amount))


@pytest.mark.parametrize("lie", LIES)
def test_an_order_is_paid_though_its_baseline_cannot_be_read_again(
    order: Order, coins: Chain, clock: Clock, liar: Liar, honest: Forgetful, lie: str
) -> None:
    """The workers were down so long that honest nodes have forgotten the state at the order's block."""
    coins.mine(30)
    says(liar, LIES[lie])
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    says(liar, TRUE)
    liar.refuse = "eth_call"
    honest.before = coins.head - 2
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    assert not fresh(wanted).baseline_final
    assert (fresh(wanted).status, int(fresh(wanted).credited)) == (OrderStatus.PAID, int(wanted.amount))


class Uneven(RpcProxy):
    """An address with several nodes behind it: every second answer is from a node that is two blocks behind."""

    def answer(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.behind = 0 if self.requests % 2 else 2
        known = int(self._post([NEWEST])[0]["result"], 16) - self.behind
        unknown = {"code": -32000, "message": "header not found"}
        return [
            {"jsonrpc": "2.0", "id": call["id"], "error": unknown}
            if call["method"] == "eth_call" and int(call["params"][1], 16) > known
            else told
            for call, told in zip(reversed(calls), super().answer(calls), strict=True)
        ]


def test_addresses_that_lead_to_nodes_that_lag_take_orders(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    nodes = [Uneven(coins.url) for _ in range(3)]
    settings.CRYPTO_RPC_URLS = [node.url for node in nodes]
    for _ in range(2):
        assert order().status == OrderStatus.PENDING
        CryptoOrder.objects.update(status=OrderStatus.EXPIRED)
    for node in nodes:
        node.stop()


def test_what_has_just_paid_an_order_pays_no_second_one(
    order: Order, coins: Chain, clock: Clock, liar: Liar, settings: Settings
) -> None:
    """The first node reports no transfers, so nobody knows yet which transfer paid the first order."""
    settings.CRYPTO_CONFIRMATION = "depth:1"
    first = order()
    liar.no_logs = True
    pays(coins.usdt, first)
    coins.mine()
    scan(clock)
    assert fresh(first).status == OrderStatus.PAID
    second = order()
    for _ in range(3):
        coins.mine()
        scan(clock)
    liar.no_logs = False
    coins.mine(5)
    scan(clock)
    watch(clock)
    assert fresh(second).status == OrderStatus.PENDING
    pays(coins.usdt, second)
    coins.mine()
    scan(clock)
    assert (fresh(second).status, int(fresh(second).credited)) == (OrderStatus.PAID, int(second.amount))


@pytest.mark.parametrize("nodes", [2, 3])
def test_while_most_nodes_do_not_say_the_same_there_is_no_order(
    coins: Chain, running: Agent, client: APIClient, liar: Liar, honest: Forgetful, settings: Settings, nodes: int
) -> None:
    settings.CRYPTO_RPC_URLS = [liar.url, coins.url] if nodes == 2 else [liar.url, honest.url, coins.url]
    liar.invents, honest.status = 10**6, 500
    asked = {"agentId": running.pk, "asset": "usdt", "period": "monthly"}
    answer = client.post("/crypto/orders", asked, format="json")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer.json()["message"] == "the chain cannot be read at the moment: try again"
    assert not CryptoOrder.objects.exists()
    liar.invents = 0
    assert client.post("/crypto/orders", asked, format="json").status_code == 200


def test_a_node_that_names_another_token_turns_no_stablecoins_off(
    order: Order, coins: Chain, clock: Clock, liar: Liar
) -> None:
    wanted = order()
    liar.other_symbol = True
    watching.reread(now=clock.now)
    assert ChainState.objects.get().fault == ""
    assert order(asset=Asset.USDC).pk != wanted.pk


def test_a_node_that_goes_on_making_up_newer_blocks_hides_nobodys_money(
    order: Order, coins: Chain, clock: Clock, liar: Liar
) -> None:
    wanted = order()
    liar.ahead = 1000
    pays(coins.usdt, wanted)
    settle(coins, clock)
    second = pays(coins.usdt, wanted)
    for _ in range(2):
        settle(coins, clock)
        watch(clock)
    assert fresh(wanted).status == OrderStatus.PAID
    assert [deposit.tx_hash for deposit in decisions.undecided()] == [second]


def test_a_payment_that_comes_again_before_its_baselines_block_pays_though_one_node_lies_about_times(
    order: Order, coins: Chain, clock: Clock, liar: Liar
) -> None:
    coins.mine(at=clock.now - HOUR)
    coins.mine(at=clock.now - 10 * SECOND)
    coins.mine(2)
    wanted = order()
    tx_hash = pays(coins.usdt, wanted)
    liar.all_new = True
    coins.reorganise(3, again=[coins.raw(tx_hash)], at=1)
    for _ in range(3):
        settle(coins, clock)
        watch(clock)
    assert (fresh(wanted).status, int(fresh(wanted).credited)) == (OrderStatus.PAID, int(wanted.amount))
