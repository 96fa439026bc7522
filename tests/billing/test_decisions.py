"""Decisions of operators about money that bought nothing: each once, for the right agent, and final."""

from __future__ import annotations

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from accounts.models import Letter, User
from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, corrections, decisions, invariants
from billing.decisions import AlreadyDecided, DeletedAgent, Money, NothingToDecide, NotOfTheAccount
from billing.errors import NothingToCredit
from billing.models import CryptoOrder, Decision, Deposit, Payment
from billing.vocabulary import OrderStatus, Provider
from config.errors import Conflict
from tests.agents.conftest import MakeAgent, event_types
from tests.agents.conftest import settle as come_to_rest
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, Pay, licence
from tests.billing.crypto import USD, Order, fresh, pays, settle, to, watch
from tests.doubles.chain import Chain

pytestmark = [pytest.mark.sampled, pytest.mark.django_db]

WHO = {"reason": "sent without an order", "actor": "operator:x"}


@pytest.fixture
def stray(order: Order, coins: Chain, clock: Clock) -> Deposit:
    """Money in the other coin, for which there is no order."""
    coins.usdc.send(to(order()), 5 * 10**18)
    settle(coins, clock)
    watch(clock)
    return Deposit.objects.get()


def test_days_are_credited_for_it_once_and_an_operator_signs(stray: Deposit, clock: Clock, running: Agent) -> None:
    assert list(decisions.undecided()) == [stray]
    given = decisions.credit(stray, days=30, now=clock.now, **WHO)
    assert agent_terms.term(running, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY
    row = Decision.objects.get(deposit=stray)
    assert (row.deposit, row.credit, row.actor, row.reason) == (stray, given, "operator:x", "sent without an order")
    assert (given.kind, given.reason) == ("credit", "sent without an order")
    assert not decisions.undecided().exists()
    for again in (
        lambda: decisions.credit(stray, days=30, now=clock.now, **WHO),
        lambda: decisions.close(stray, now=clock.now, **WHO),
    ):
        with pytest.raises(AlreadyDecided):
            again()
    assert Payment.objects.filter(kind="credit").count() == 1
    assert "payment.confirmed" not in event_types(running)
    assert invariants.broken(now=clock.now) == []


@pytest.mark.django_db(transaction=True)
def test_two_operators_at_once_decide_once(stray: Deposit, clock: Clock) -> None:
    def decide(_: int) -> bool:
        try:
            decisions.credit(stray, days=30, now=clock.now, **WHO)
        except Conflict:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(decide, range(8))) == 1
    assert (Payment.objects.filter(kind="credit").count(), Decision.objects.exclude(deposit=None).count()) == (1, 1)


def test_a_decision_is_for_good(stray: Deposit, clock: Clock) -> None:
    decisions.close(stray, now=clock.now, **WHO)
    for change in (lambda: Decision.objects.update(reason="other"), lambda: Decision.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()


def test_money_for_a_deleted_agent_goes_to_another_of_its_account(
    stray: Deposit, clock: Clock, running: Agent, make_agent: MakeAgent, stranger: User
) -> None:
    lifecycle.delete(running, actor="user:x")
    heir = come_to_rest(make_agent())
    with pytest.raises(DeletedAgent):
        decisions.credit(stray, days=30, now=clock.now, **WHO)
    for another in (make_agent(stranger).pk, "agt_none"):
        with pytest.raises(NotOfTheAccount):
            decisions.credit(stray, days=30, agent_id=another, now=clock.now, **WHO)
    assert not Decision.objects.exists()
    decisions.credit(stray, days=30, agent_id=heir.pk, now=clock.now, **WHO)
    assert agent_terms.term(heir, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY


def test_what_is_wrong_stores_nothing(stray: Deposit, clock: Clock) -> None:
    with pytest.raises(NothingToCredit):
        decisions.credit(stray, days=0, now=clock.now, **WHO)
    assert not Decision.objects.exists()


def test_an_orders_money_and_its_deposits_are_decided_together(
    order: Order, coins: Chain, clock: Clock, running: Agent, make_agent: MakeAgent
) -> None:
    wanted = order()
    for part in (2, 3):
        pays(coins.usdt, wanted, part * USD)
    lifecycle.delete(running, actor="user:x")
    settle(coins, clock)
    payment = Payment.objects.get()
    assert (Payment.objects.open().count(), decisions.undecided().count()) == (1, 2)
    first = Deposit.objects.earliest("block")
    decisions.credit(first, days=30, agent_id=come_to_rest(make_agent()).pk, now=clock.now, **WHO)
    assert not Payment.objects.open().exists()
    assert not decisions.undecided().exists()
    everything: list[Money] = [payment, *Deposit.objects.all()]
    for money in everything:
        with pytest.raises(AlreadyDecided):
            decisions.close(money, now=clock.now, **WHO)
    assert (Decision.objects.count(), Payment.objects.filter(kind="credit").count()) == (3, 1)
    assert invariants.broken(now=clock.now) == []


def test_what_was_paid_beyond_the_amount_is_decided_once(order: Order, coins: Chain, clock: Clock) -> None:
    pays(coins.usdt, order(), 8 * USD)
    settle(coins, clock)
    (row,) = decisions.overpaid()
    decisions.credit(row, days=18, now=clock.now, **WHO)
    assert not decisions.overpaid().exists()
    with pytest.raises(AlreadyDecided):
        decisions.credit(row, days=18, now=clock.now, **WHO)


def test_what_bought_something_or_may_still_do_so_is_not_decided(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted, USD)
    settle(coins, clock)
    with pytest.raises(NothingToDecide):
        decisions.close(Deposit.objects.get(), now=clock.now, **WHO)
    pays(coins.usdt, wanted, 4 * USD)
    settle(coins, clock)
    everything: list[Money] = [*Deposit.objects.all(), Payment.objects.get()]
    for money in everything:
        with pytest.raises(NothingToDecide):
            decisions.credit(money, days=1, now=clock.now, **WHO)


def test_a_part_that_came_before_a_newer_order_waits_for_an_operator_once_that_is_final(
    order: Order, coins: Chain, clock: Clock
) -> None:
    old = order()
    pays(coins.usdt, old, USD)
    settle(coins, clock)
    CryptoOrder.objects.update(status=OrderStatus.EXPIRED)
    clock.go(DAY)
    new = order()
    watch(clock)
    assert Deposit.objects.get().unapplied == "", "it may be all of it, as far as anybody knows"
    settle(coins, clock)
    watch(clock)
    assert Deposit.objects.get().unapplied == "it was too little, and a newer order replaced its order"
    pays(coins.usdt, new)
    settle(coins, clock)
    assert (fresh(new).status, decisions.undecided().count()) == (OrderStatus.PAID, 1)
    assert invariants.broken(now=clock.now) == []


def test_a_licence_that_came_too_late_is_closed(running: Agent, pay: Pay, clock: Clock) -> None:
    lifecycle.delete(running, actor="user:x")
    row = pay(running, provider=Provider.GUMROAD, licence=licence(clock.now + 30 * DAY))
    assert list(Payment.objects.open()) == [row]
    decisions.close(row, now=clock.now, **WHO)
    assert not Payment.objects.open().exists()


def test_what_was_sent_back_is_in_the_ledger_with_its_amount(stray: Deposit, clock: Clock) -> None:
    back = decisions.send_back(stray, now=clock.now, **WHO)
    assert (back.kind, back.provider, back.currency) == ("refund", "usdc", "usdc")
    assert back.amount == 5 * 10**18
    assert (back.unapplied, back.reason, back.actor) == ("it was sent back", "sent without an order", "operator:x")
    assert not decisions.undecided().exists()
    assert not Payment.objects.open().exists()
    with pytest.raises(AlreadyDecided):
        decisions.send_back(stray, now=clock.now, **WHO)
    assert invariants.broken(now=clock.now) == []


def sales(client: Client) -> dict[str, str]:
    """The only line of the sales report."""
    client.force_login(User.objects.get(is_superuser=True))
    answer = client.get("/admin/billing/reports/", {"from": "2026-11", "to": "2026-12", "csv": "sales"})
    (line,) = csv.DictReader(io.StringIO(answer.content.decode()))
    return line


@pytest.mark.parametrize("decided", ["send_back", "close", "credit"])
def test_what_bought_nothing_is_received_with_its_decision_once_and_counted_as_dollars(
    stray: Deposit, clock: Clock, running: Agent, admin_client: Client, decided: str
) -> None:
    """The coin has 18 decimals, and nobody has ever placed an order in it."""
    letters = Letter.objects.count()
    decide = getattr(decisions, decided)
    decide(stray, now=clock.now, **WHO, **({"days": 30} if decided == "credit" else {}))
    back = Decimal(5 if decided == "send_back" else 0)
    line = sales(admin_client)
    assert (line["provider"], line["payments"], line["received"], line["unapplied"]) == ("usdc", "1", "5", "5")
    assert (line["received_usd"], Decimal(line["returned"]), Decimal(line["kept_usd"])) == ("5.00", back, 5 - back)
    assert not Payment.objects.open().exists()
    assert invariants.broken(now=clock.now) == []
    assert Letter.objects.count() == letters + (decided == "send_back"), "nothing was paid for: there is no receipt"
    for money in (stray, Payment.objects.get(kind="payment")):
        with pytest.raises(AlreadyDecided):
            decisions.close(money, now=clock.now, **WHO)


def test_what_counts_for_an_order_is_received_once(
    order: Order, coins: Chain, clock: Clock, running: Agent, admin_client: Client
) -> None:
    wanted = order()
    for part in (2, 3):
        pays(coins.usdt, wanted, part * USD)
    lifecycle.delete(running, actor="user:x")
    settle(coins, clock)
    decisions.send_back(Deposit.objects.earliest("block"), now=clock.now, **WHO)
    line = sales(admin_client)
    assert (line["payments"], line["received"], line["refunds"], line["returned"]) == ("1", "5", "1", "5")
    assert (line["received_usd"], line["kept_usd"]) == ("5.00", "0.00")


def test_what_was_decided_about_pays_no_order_any_more(order: Order, coins: Chain, clock: Clock) -> None:
    wanted = order()
    pays(coins.usdt, wanted, 2 * USD)
    settle(coins, clock)
    Deposit.objects.update(unapplied="no order was open for it")
    decisions.send_back(Deposit.objects.get(), now=clock.now, **WHO)
    pays(coins.usdt, wanted, 3 * USD)
    settle(coins, clock)
    assert fresh(wanted).status == OrderStatus.PENDING
    pays(coins.usdt, wanted, 2 * USD)
    settle(coins, clock)
    paid = Payment.objects.get(order=wanted)
    assert (fresh(wanted).status, paid.amount, paid.over) == (OrderStatus.PAID, Decimal(5 * USD), Decimal(0))
    assert invariants.broken(now=clock.now) == []


def test_of_what_was_too_much_only_that_was_sent_back(order: Order, coins: Chain, clock: Clock) -> None:
    pays(coins.usdt, order(), 8 * USD)
    settle(coins, clock)
    (row,) = decisions.overpaid()
    back = decisions.send_back(row, now=clock.now, **WHO)
    assert back.amount == 3 * USD
    assert not decisions.overpaid().exists()
    rest = corrections.refund_payment(row, now=clock.now, **WHO)
    assert rest.amount == 5 * USD


def test_stars_that_go_back_by_themselves_are_nobodys_decision(running: Agent, pay: Pay, clock: Clock) -> None:
    lifecycle.delete(running, actor="user:x")
    row = pay(running, provider=Provider.STARS)
    with pytest.raises(NothingToDecide):
        decisions.close(row, now=clock.now, **WHO)
