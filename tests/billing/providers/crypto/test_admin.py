"""Stablecoins in the admin: what operators see and do."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.models import Agent
from billing import agent_terms
from billing.models import CryptoOrder, Decision, Deposit, DepositAddress, Payment, Sweep
from billing.providers.crypto import misplaced
from tests import operating
from tests.agents.conftest import MakeAgent
from tests.agents.conftest import settle as come_to_rest
from tests.billing.conftest import DAY, FREE_UNTIL, Clock
from tests.billing.crypto import HOUR, USD, Order, looked, pays, scan, settle, state, to, wait, watch
from tests.doubles.chain import Chain

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

BILLING = "/admin/billing/"
DEPOSITS, ORDERS = f"{BILLING}deposit/", f"{BILLING}cryptoorder/"
LISTS = ["cryptoorder", "deposit", "depositaddress", "sweep", "misplaced", "chainstate", "decision", "payment"]
WHY = "asked for by mail"


@pytest.fixture
def operator(clock: Clock) -> User:
    return User.objects.create_superuser("operator@example.com")


@pytest.fixture
def console(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def clerk(clock: Clock) -> Client:
    """A staff member who may see everything and change nothing."""
    user = User.objects.create_user("clerk@example.com", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))
    client = Client()
    client.force_login(user)
    return client


def act(console: Client, url: str, action: str, row: Model, **given: Any) -> str:
    return operating.act(console, url, action, row, **{"reason": WHY, **given})


@pytest.fixture
def stray(order: Order, coins: Chain, clock: Clock) -> Deposit:
    coins.usdc.send(to(order()), 5 * 10**18)
    settle(coins, clock)
    watch(clock)
    return Deposit.objects.get()


def test_a_deposit_that_bought_nothing_is_found_at_once_and_credited_once(
    console: Client, operator: User, stray: Deposit, order: Order, coins: Chain, running: Agent, clock: Clock
) -> None:
    coins.usdt.send(to(order()), 1)
    settle(coins, clock)
    assert console.get(DEPOSITS).content.decode().count("/change/") == 2
    page = console.get(f"{DEPOSITS}?open=1").content.decode()
    assert (stray.tx_hash in page, "1 deposit" in page) == (True, True)
    assert "5000000000000000000" in page, "to the last unit"
    assert "Credited: 5" in act(console, DEPOSITS, "credit", stray, days=30)
    assert "an operator has decided" in act(console, DEPOSITS, "credit", stray, days=30)
    assert "an operator has decided" in act(console, DEPOSITS, "close", stray)
    assert agent_terms.term(running, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY
    row = Decision.objects.get(deposit=stray)
    assert (row.actor, row.reason, row.deposit) == (f"operator:{operator.pk}", WHY, stray)
    assert stray.tx_hash not in console.get(f"{DEPOSITS}?open=1").content.decode()


@pytest.mark.parametrize("given", [{"reason": " ", "days": 3}, {"days": "x"}, {"days": 3, "agent": "agt_none"}])
def test_what_is_wrong_is_said_and_decides_nothing(console: Client, stray: Deposit, given: dict[str, object]) -> None:
    page = act(console, DEPOSITS, "credit", stray, **given)
    assert any(words in page for words in ("This field is required", "days: 0 given", "is not an agent of the account"))
    assert (Decision.objects.count(), Payment.objects.count()) == (0, 0)


def test_it_is_closed_with_a_reason(console: Client, stray: Deposit) -> None:
    assert "Closed: 5" in act(console, DEPOSITS, "close", stray)
    assert Decision.objects.get(deposit=stray).credit is None


def test_what_was_paid_beyond_the_amount_is_found(console: Client, order: Order, coins: Chain, clock: Clock) -> None:
    pays(coins.usdt, order(), 9 * USD)
    settle(coins, clock)
    row = Payment.objects.get()
    assert row.pk in console.get(f"{BILLING}payment/?open=over").content.decode()
    act(console, f"{BILLING}payment/", "credit", row, days=20)
    assert row.pk not in console.get(f"{BILLING}payment/?open=over").content.decode()


def test_the_chain_is_looked_at_now_once_and_who_asked_is_on_the_timeline(
    console: Client, operator: User, order: Order, coins: Chain, clock: Clock, running: Agent
) -> None:
    wanted = order()
    pages = [act(console, ORDERS, "look", wanted) for _ in range(2)]
    assert ["The chain is being read" in page for page in pages] == [True, False]
    assert "being checked already" in pages[1]
    (noted,) = running.transitions.filter(note__contains=wanted.pk)
    assert (noted.actor, noted.note) == (f"operator:{operator.pk}", f"the chain is read now for {wanted.pk}: {WHY}")
    clock.go(HOUR)
    assert "The chain is being read" in act(console, ORDERS, "look", wanted)
    CryptoOrder.objects.update(chain_id=1)
    assert "is not read" in act(console, ORDERS, "look", wanted)


def test_a_sweep_is_recorded_by_its_transaction(
    console: Client, operator: User, order: Order, coins: Chain, clock: Clock
) -> None:
    wanted = order()
    pays(coins.usdt, wanted)
    settle(coins, clock)
    free = f"{BILLING}depositaddress/?sweepable=1"
    assert to(wanted) in console.get(free).content.decode()
    tx_hash = coins.sweep(coins.usdt, to(wanted), 5 * USD)
    url = f"{BILLING}sweep/add/"
    body = {"transaction": tx_hash, "reason": "to the vault"}
    assert "record it in some minutes" in console.post(url, body).content.decode()
    coins.final()
    for _ in range(2):
        assert "recorded" in console.post(url, body, follow=True).content.decode()
    row = Sweep.objects.get()
    assert (int(row.amount), row.actor, row.reason) == (5 * USD, f"operator:{operator.pk}", "to the vault")
    assert to(wanted) not in console.get(free).content.decode()
    assert "This field is required" in console.post(url, {"transaction": tx_hash}).content.decode()


def test_an_address_where_money_is_waited_for_is_not_offered_for_sweeping(
    console: Client, operator: User, order: Order, coins: Chain, clock: Clock
) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 1)
    scan(clock)
    free = f"{BILLING}depositaddress/?sweepable=1"
    assert to(wanted) not in console.get(free).content.decode()
    wait(coins, clock, 25 * HOUR)
    CryptoOrder.objects.update(status="expired")
    assert to(wanted) not in console.get(free).content.decode()
    clock.go(15 * DAY)
    console.force_login(operator)
    assert to(wanted) in console.get(free).content.decode()


def test_the_state_of_the_chain_and_of_an_order_are_shown(
    console: Client, order: Order, coins: Chain, clock: Clock
) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 1)
    settle(coins, clock)
    looked(clock)
    assert state(wanted)[1] == 1
    assert str(coins.head) in console.get(f"{BILLING}chainstate/").content.decode()
    page = console.get(f"{ORDERS}{wanted.pk}/change/".replace("_", "_5F")).content.decode()
    assert to(wanted) in page


def test_rows_are_only_shown(console: Client, clerk: Client, stray: Deposit) -> None:
    for model in LISTS:
        for client in (console, clerk):
            page = client.get(f"{BILLING}{model}/")
            assert (page.status_code, "delete_selected" in page.content.decode()) == (200, False)
        assert console.get(f"{BILLING}{model}/add/").status_code == (200 if model == "sweep" else 403)
        assert clerk.get(f"{BILLING}{model}/add/").status_code == 403


def test_who_may_only_look_decides_nothing(clerk: Client, stray: Deposit, clock: Clock) -> None:
    act(clerk, DEPOSITS, "credit", stray, days=3)
    act(clerk, ORDERS, "look", CryptoOrder.objects.get())
    assert not Decision.objects.exists()
    assert clerk.get(f"{BILLING}books/").status_code == 200
    nobody = Client()
    nobody.force_login(User.objects.create_user("nobody@example.com", is_staff=True))
    assert nobody.get(f"{BILLING}books/").status_code == 403


@pytest.mark.unmeasured
def test_lists_ask_as_much_for_many_rows_as_for_few(
    console: Client, order: Order, coins: Chain, clock: Clock, make_agent: MakeAgent
) -> None:
    def fill(agent: Agent) -> None:
        wanted = order(agent)
        coins.usdc.send(to(wanted), 5)
        coins.give(to(wanted), 7)
        pays(coins.usdt, wanted)
        settle(coins, clock)
        watch(clock)
        misplaced.look(now=clock.now)
        act(console, DEPOSITS, "close", Deposit.objects.filter(asset="usdc").latest("pk"))

    def asked(model: str) -> int:
        console.get(f"{BILLING}{model}/")
        with CaptureQueriesContext(connection) as queries:
            assert console.get(f"{BILLING}{model}/").status_code == 200
        return len(queries)

    fill(come_to_rest(make_agent()))
    few = [asked(model) for model in LISTS]
    for _ in range(2):
        fill(come_to_rest(make_agent()))
    assert DepositAddress.objects.count() == 3
    assert [asked(model) for model in LISTS] == few
