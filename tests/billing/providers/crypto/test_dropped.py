"""Payments that were accepted at a depth at which the chain could still drop them."""

from __future__ import annotations

import pytest
from django.core import mail
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from agents.models import Agent
from billing import corrections, decisions
from billing.decisions import NothingToDecide
from billing.models import CryptoOrder, Decision, Deposit, Payment, Subscription
from billing.providers.crypto import invariants
from billing.vocabulary import OrderStatus
from tests.billing.conftest import Clock
from tests.billing.crypto import HOUR, SECOND, Order, fresh, pays, scan, watch
from tests.doubles.chain import Chain
from tests.doubles.rpc_proxy import RpcProxy

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

WHO = {"reason": "it is gone", "actor": "operator:x"}


@pytest.fixture
def paid(order: Order, coins: Chain, clock: Clock, settings: Settings) -> CryptoOrder:
    """An order that is paid with one block on top."""
    settings.CRYPTO_CONFIRMATION, settings.ADMINS = "depth:1", [("Ops", "ops@example.org")]
    wanted = order()
    pays(coins.usdt, wanted)
    coins.mine()
    scan(clock)
    assert fresh(wanted).status == OrderStatus.PAID
    return fresh(wanted)


def later(clock: Clock) -> None:
    clock.go(HOUR / 4)
    watch(clock)


def test_a_payment_that_the_chain_drops_is_an_alarm_and_a_decision_and_its_agent_runs_on(
    paid: CryptoOrder, coins: Chain, clock: Clock, running: Agent
) -> None:
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    assert fresh(paid).dropped_at == clock.now
    assert [payment.order_id for payment in decisions.vanished()] == [paid.pk]
    assert paid.pk in mail.outbox[0].subject
    assert Subscription.objects.get().is_live
    later(clock)
    assert len(mail.outbox) == 1, "it is said once"


def test_an_operator_takes_back_the_time_of_what_is_gone(paid: CryptoOrder, coins: Chain, clock: Clock) -> None:
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    (row,) = decisions.vanished()
    back = corrections.refund_payment(row, now=clock.now, **WHO)
    assert back.amount == row.amount
    assert not decisions.vanished().exists()
    assert not Subscription.objects.live().exists()


def test_books_lead_to_what_is_gone(paid: CryptoOrder, coins: Chain, clock: Clock) -> None:
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com"))
    books = console.get("/admin/billing/books/").content.decode()
    assert 'payment/?open=gone">Payments that disappeared from the chain</a></th>\n          <td>1</td>' in books
    rows = console.get("/admin/billing/payment/?open=gone").content.decode()
    assert rows.count('class="action-select"') == 1


def test_or_leaves_it(paid: CryptoOrder, coins: Chain, clock: Clock) -> None:
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    (row,) = decisions.vanished()
    with pytest.raises(NothingToDecide):
        decisions.send_back(row, now=clock.now, **WHO)
    decisions.close(row, now=clock.now, **WHO)
    assert Decision.objects.get().payment == row
    assert not decisions.vanished().exists()
    assert Subscription.objects.get().is_live


def test_what_comes_again_is_the_same_money_and_nobodys_decision(paid: CryptoOrder, coins: Chain, clock: Clock) -> None:
    raw = coins.raw(str(paid.tx_hash))
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    assert decisions.vanished().exists()
    coins.rpc("eth_sendRawTransaction", raw)
    coins.mine(3)
    later(clock)
    assert not decisions.vanished().exists()
    row = Deposit.objects.get()
    assert (row.order_id, row.block_hash) == (paid.pk, coins.block_of(str(paid.tx_hash)))
    assert Payment.objects.count() == 1
    assert [line for check in invariants.CHECKS for line in check(clock.now)] == []


def test_what_comes_again_after_its_time_was_taken_back_is_an_operators_to_decide_once(
    paid: CryptoOrder, coins: Chain, clock: Clock
) -> None:
    raw = coins.raw(str(paid.tx_hash))
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    (row,) = decisions.vanished()
    corrections.refund_payment(row, now=clock.now, **WHO)
    coins.rpc("eth_sendRawTransaction", raw)
    coins.mine(3)
    for _ in range(3):
        later(clock)
    (again,) = Payment.objects.open()
    assert (again.amount, again.subscription, again.order_id) == (row.amount, None, paid.pk)
    assert [line for check in invariants.CHECKS for line in check(clock.now)] == []
    decisions.send_back(again, now=clock.now, **WHO)
    assert not Payment.objects.open().exists()
    assert not decisions.vanished().exists()


def test_what_only_moved_to_another_block_was_never_gone(paid: CryptoOrder, coins: Chain, clock: Clock) -> None:
    coins.reorganise(2, again=[coins.raw(str(paid.tx_hash))])
    coins.mine(3)
    later(clock)
    scan(clock)
    watch(clock)
    row = Deposit.objects.get()
    assert (row.order_id, row.block_hash) == (paid.pk, coins.block_of(str(paid.tx_hash)))
    assert not decisions.vanished().exists()


def test_of_three_nodes_one_that_has_forgotten_a_payment_says_nothing(
    paid: CryptoOrder, coins: Chain, clock: Clock, settings: Settings
) -> None:
    """The same holds if a second node does not answer."""
    forgets = RpcProxy(coins.url)
    forgets.no_receipts = True
    settings.CRYPTO_RPC_URLS = [forgets.url, coins.url, coins.url.replace("127.0.0.1", "localhost")]
    later(clock)
    assert not decisions.vanished().exists()
    silent = "http://127.0.0.1:9"
    settings.CRYPTO_RPC_URLS = [coins.url, forgets.url, silent]
    later(clock)
    assert not decisions.vanished().exists()
    settings.CRYPTO_RPC_URLS = [forgets.url]
    later(clock)
    assert decisions.vanished().exists()
    forgets.stop()


def test_after_two_hours_nobody_asks_any_more(paid: CryptoOrder, coins: Chain, proxy: RpcProxy, clock: Clock) -> None:
    for _ in range(9):
        later(clock)
    assert fresh(paid).recheck_at is None
    assert clock.now - (paid.paid_at or clock.now) > 2 * HOUR + SECOND


def test_what_is_final_is_not_asked_about_again(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    coins.final()
    scan(clock)
    assert (fresh(wanted).status, fresh(wanted).recheck_at) == (OrderStatus.PAID, None)


def test_what_paid_an_order_and_comes_again_pays_no_second_one(
    order: Order, coins: Chain, clock: Clock, settings: Settings
) -> None:
    settings.CRYPTO_CONFIRMATION = "depth:1"
    coins.mine()
    first = order()
    raw = coins.raw(pays(coins.usdt, first))
    coins.mine()
    scan(clock)
    second = order()
    coins.reorganise(2)
    coins.mine(3)
    later(clock)
    scan(clock)
    coins.rpc("eth_sendRawTransaction", raw)
    coins.mine(3)
    scan(clock)
    later(clock)
    assert (fresh(first).status, fresh(second).status) == (OrderStatus.PAID, OrderStatus.PENDING)
    assert Payment.objects.count() == 1
    pays(coins.usdt, second)
    coins.mine()
    scan(clock)
    later(clock)
    assert (fresh(second).status, int(fresh(second).credited)) == (OrderStatus.PAID, int(second.amount))
    assert [line for check in invariants.CHECKS for line in check(clock.now)] == []
