"""The books of stablecoins: the checks find manual changes in the database, and report nothing else."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from billing import invariants
from billing.models import CryptoOrder, Deposit, Sweep
from billing.providers.crypto import invariants as books
from billing.vocabulary import Asset, Period
from tests.agents.conftest import MakeAgent
from tests.agents.conftest import settle as come_to_rest
from tests.billing.conftest import DAY, Clock, tick
from tests.billing.crypto import HOUR, USD, Order, fresh, pays, settle, to, watch
from tests.doubles.chain import CHAIN_ID, Chain
from tests.doubles.rpc_proxy import RpcProxy
from tests.workers import database_url

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]


@pytest.fixture
def paid(order: Order, coins: Chain, clock: Clock) -> CryptoOrder:
    """A paid order: paid in two parts and too much. Then money that bought nothing, and a part for the next order."""
    wanted = order()
    for part in (2, 4):
        pays(coins.usdt, wanted, part * USD)
    settle(coins, clock)
    coins.usdc.send(to(wanted), 10**18)
    settle(coins, clock)
    watch(clock)
    clock.go(HOUR)
    pays(coins.usdt, order(period=Period.ANNUAL), USD)
    settle(coins, clock)
    watch(clock)
    clock.go(3 * HOUR)
    tick(wanted.agent, clock)
    return fresh(wanted)


def found(clock: Clock) -> list[str]:
    looked = [check(clock.now) for check in books.CHECKS]
    return [sentence for sentences in looked for sentence in sentences]


def by_hand(statement: str, *values: int) -> None:
    """Change rows without the triggers, as only a superuser of the database can."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(statement, values)
        cursor.execute("RESET session_replication_role")


def test_what_came_is_credited_unapplied_or_open(paid: CryptoOrder, clock: Clock) -> None:
    assert {(bool(row.order_id), bool(row.unapplied)) for row in Deposit.objects.all()} == {
        (True, False),
        (False, True),
        (False, False),
    }
    assert found(clock) == []


def test_a_deposit_that_is_counted_twice_is_found(paid: CryptoOrder, clock: Clock) -> None:
    Deposit.objects.filter(order=paid, amount=2 * USD).update(unapplied="counted again")
    assert found(clock) == [
        f"{to(paid)}: 7000000 of usdt came on chain {CHAIN_ID}, but 6000000 is credited, 2000000 bought nothing and"
        " 1000000 is undecided"
    ]


def test_a_deposit_that_was_lost_is_found_at_its_address_and_its_order(paid: CryptoOrder, clock: Clock) -> None:
    Deposit.objects.filter(order=paid, amount=2 * USD).delete()
    assert found(clock) == [
        f"{to(paid)}: 5000000 of usdt came on chain {CHAIN_ID}, but 6000000 is credited, 0 bought nothing and"
        " 1000000 is undecided",
        f"{paid.pk} of 5000000 has 6000000 credited, but 4000000 came for it, and the ledger has 6000000, 1000000 of it"
        " too much",
    ]


def test_a_unit_of_eighteen_decimals_is_found(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order(asset=Asset.USDC, period=Period.ANNUAL)
    pays(coins.usdc, wanted)
    settle(coins, clock)
    assert found(clock) == []
    amount = int(wanted.amount)
    by_hand("UPDATE billing_payment SET amount = %s", amount + 1)
    assert found(clock) == [
        f"{to(wanted)}: {amount} of usdc came on chain {CHAIN_ID}, but {amount + 1} is credited, 0 bought nothing and"
        " 0 is undecided",
        f"{wanted.pk} of {amount} has {amount} credited, but {amount} came for it, and the ledger has {amount + 1}, 0"
        " of it too much",
    ]


def test_an_order_that_is_credited_something_else_is_found(paid: CryptoOrder, clock: Clock) -> None:
    CryptoOrder.objects.filter(pk=paid.pk).update(credited=5 * USD)
    assert found(clock) == [
        f"{paid.pk} of 5000000 has 5000000 credited, but 6000000 came for it, and the ledger has 6000000, 1000000 of it"
        " too much"
    ]


def test_more_swept_than_ever_came_is_found(paid: CryptoOrder, clock: Clock) -> None:
    values = {"deposit_address": paid.deposit_address, "chain_id": CHAIN_ID, "asset": "usdt", "at": clock.now}
    Sweep.objects.create(**values, tx_hash="0x1", amount=7 * USD, actor="operator:x")
    assert found(clock) == []
    Sweep.objects.create(**values, tx_hash="0x2", amount=1, actor="operator:x")
    assert found(clock) == [
        f"{to(paid)}: 7000001 of usdt was swept on chain {CHAIN_ID}, but only 7000000 is known to have come"
    ]


def test_a_subscription_of_another_plan_than_was_ordered_is_found(paid: CryptoOrder, clock: Clock) -> None:
    by_hand("UPDATE billing_subscription SET tier = 'large'")
    (sentence,) = found(clock)
    assert sentence.endswith(f"of {paid.agent_id} is large by usdt, but no paid order of that kind paid for it")


def test_a_deposit_that_nobody_sorts_out_is_found(paid: CryptoOrder, clock: Clock) -> None:
    clock.go(18 * DAY)
    open_ = Deposit.objects.get(order=None, unapplied="")
    assert found(clock) == [
        f"1000000 of usdt in {open_.tx_hash} came 2026-11-21 13:00, but it is not recorded what it bought"
    ]


def test_transfers_that_are_read_late_are_no_finding(order: Order, coins: Chain, proxy: RpcProxy, clock: Clock) -> None:
    pays(coins.usdt, order())
    proxy.no_logs = True
    settle(coins, clock)
    clock.go(HOUR + timedelta(seconds=1))
    assert found(clock) == []
    proxy.no_logs = False
    settle(coins, clock)
    watch(clock)
    assert found(clock) == []


def test_however_many_there_are_the_database_is_asked_as_often(
    order: Order, coins: Chain, clock: Clock, make_agent: MakeAgent
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert invariants.broken(now=clock.now) == []
        return len(queries)

    few = asked()
    for agent in [come_to_rest(make_agent()) for _ in range(2)]:
        pays(coins.usdt, order(agent))
    settle(coins, clock)
    assert asked() == few


def test_the_books_show_what_is_broken_and_what_waits(
    paid: CryptoOrder, clock: Clock, client_of_console: Client
) -> None:
    assert "/admin/billing/books/" in client_of_console.get("/admin/").content.decode()
    page = " ".join(client_of_console.get("/admin/billing/books/").content.decode().split())
    assert "<p>No problems.</p>" in page
    assert '<a href="/admin/billing/deposit/?open=1">Deposits that bought nothing</a></th> <td>1</td>' in page
    assert "Payments above the price</a></th> <td>1</td>" in page
    CryptoOrder.objects.filter(pk=paid.pk).update(credited=5 * USD)
    assert (
        f"<li>{paid.pk} of 5000000 has 5000000 credited"
        in client_of_console.get("/admin/billing/books/").content.decode()
    )


def test_a_check_that_takes_too_long_for_a_page_is_named(clock: Clock) -> None:
    """There are no orders: a check of the chain would read the table that is locked here."""
    with psycopg.connect(database_url()) as other:
        other.execute("LOCK TABLE billing_sweep")
        looked = invariants.look(now=clock.now, seconds=1)
    assert (looked.findings, looked.unfinished) == ([], ["swept is what came"])


@pytest.fixture
def client_of_console(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client
