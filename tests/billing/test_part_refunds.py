"""A part of a payment goes back: the ledger records it, the time stays, and the value of the time falls."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Letter, User
from agents.models import Agent
from billing import corrections, part_refunds, payments
from billing.errors import NoPartToRefund, NothingToRefund
from billing.models import Invoice, Payment, Span, Subscription
from billing.payments import Receipt
from billing.vocabulary import PaymentKind, Provider
from tests import operating
from tests.billing.conftest import DAY, FREE_UNTIL, SNAPSHOTS, Clock, licence, purchase

pytestmark = pytest.mark.django_db

LEDGER = "/admin/billing/payment/"
WHY = "an outage of ours"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def payment(agent: Agent, clock: Clock) -> Payment:
    """A month for $5.00 by card."""
    return paid(agent, clock)


def paid(agent: Agent, clock: Clock, name: str = "one", cents: int = 500, **changes: Any) -> Payment:
    receipt = Receipt(
        provider=changes.get("provider", Provider.USDC),
        external_id=name,
        agent_id=agent.pk,
        purchase=purchase(**changes),
        amount=cents,
        currency="usd",
    )
    return payments.apply_payment(receipt, now=clock.now)


def refund(payment: Payment, amount: int, clock: Clock) -> Payment:
    return part_refunds.refund_part(payment, amount=amount, reason=WHY, actor="operator:1", now=clock.now)


def back(agent: Agent) -> list[int]:
    rows = Payment.objects.filter(agent=agent, kind=PaymentKind.REFUND).order_by("at", "-amount")
    return [int(row.amount or 0) for row in rows]


def end(payment: Payment) -> Any:
    assert payment.subscription is not None
    payment.subscription.refresh_from_db()
    return payment.subscription.current_period_end


def test_a_part_that_goes_back_takes_no_time(agent: Agent, payment: Payment, clock: Clock) -> None:
    before = end(payment)
    written = refund(payment, 200, clock)
    assert (written.refund_of_id, written.amount, written.currency) == (payment.pk, Decimal(200), "usd")
    assert end(payment) == before
    (letter,) = Letter.objects.filter(user=agent.user).exclude(subject__startswith="Paid")
    assert "2.00 USD" in letter.text
    assert "The time it paid for stays." in letter.text
    assert "has ended" not in letter.text


def test_what_is_left_is_worth_less_by_as_much(agent: Agent, payment: Payment, clock: Clock) -> None:
    """$2.50 of $5.00 for a month went back: on a plan at twice the price this is a quarter of a month."""
    refund(payment, 250, clock)
    clock.at(FREE_UNTIL)
    other = paid(agent, clock, "two", 1000, tier="small", price_usd=Decimal("10.00"), tier_snapshot=SNAPSHOTS["small"])
    month = 31 * DAY  # from 28 November to 28 December, and from there to 28 January
    quarter = Decimal("2.50") / (Decimal("10.00") * 12 / 365)  # in days; a day costs a 365th of twelve months
    converted = end(other) - FREE_UNTIL - (30 * DAY)
    assert abs(converted / DAY - float(quarter)) < 0.01, (converted, month)


def test_a_part_of_a_coin_with_18_decimals_takes_its_share_of_the_value(agent: Agent, clock: Clock) -> None:
    """4.86 of 5 USDC went back: the rest of the month is worth 0.14."""
    refund(paid(agent, clock, cents=5 * 10**18), 486 * 10**16, clock)
    assert Span.objects.get().usd == Decimal("0.14")


@pytest.mark.parametrize("amount", [0, -1, 500, 501])
def test_a_part_is_less_than_the_whole_and_more_than_nothing(payment: Payment, clock: Clock, amount: int) -> None:
    with pytest.raises(NoPartToRefund):
        refund(payment, amount, clock)


def test_parts_are_never_more_than_the_whole(agent: Agent, payment: Payment, clock: Clock) -> None:
    refund(payment, 300, clock)
    with pytest.raises(NoPartToRefund):
        refund(payment, 200, clock)
    refund(payment, 199, clock)
    assert back(agent) == [300, 199]


def test_the_rest_goes_back_with_the_whole(agent: Agent, payment: Payment, clock: Clock) -> None:
    refund(payment, 300, clock)
    corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)
    assert back(agent) == [300, 200]
    with pytest.raises(NoPartToRefund):
        refund(payment, 1, clock)


@pytest.mark.parametrize("provider", [Provider.USDC, Provider.GUMROAD])
def test_the_whole_of_what_is_used_up_can_be_noted_and_no_time_is_taken(
    agent: Agent, clock: Clock, provider: Provider
) -> None:
    by_key: dict[str, Any] = {"licence": licence(clock.now + 30 * DAY)} if provider == Provider.GUMROAD else {}
    payment = paid(agent, clock, provider=provider, **by_key)
    clock.go(60 * DAY)
    part = refund(payment, 200, clock)
    rest = corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)
    assert (part.amount, rest.amount, rest.provider) == (Decimal(200), Decimal(300), provider)
    with pytest.raises(NothingToRefund):
        corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)


@pytest.mark.parametrize("provider", [Provider.STARS, Provider.STRIPE])
def test_what_its_provider_tells_of_by_itself_is_not_noted_by_hand(
    agent: Agent, clock: Clock, provider: Provider
) -> None:
    payment = paid(agent, clock, provider=provider)
    clock.go(60 * DAY)
    with pytest.raises(NothingToRefund):
        corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)


def test_what_bought_nothing_is_decided_and_not_refunded(agent: Agent, clock: Clock) -> None:
    agent.desired = "deleted"
    agent.save(update_fields=["desired"])
    with pytest.raises(NothingToRefund):
        corrections.refund_payment(paid(agent, clock), reason=WHY, actor="operator:1", now=clock.now)


@pytest.mark.django_db(transaction=True)
def test_parts_that_go_back_at_once_are_never_more_than_the_whole(agent: Agent, payment: Payment, clock: Clock) -> None:
    refused: list[object] = []

    def give() -> None:
        try:
            refund(payment, 100, clock)
        except NoPartToRefund as error:
            refused.append(error)
        connection.close()

    workers = [threading.Thread(target=give) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (back(agent), len(refused)) == ([100] * 4, 4)


def test_stars_go_back_whole(agent: Agent, clock: Clock) -> None:
    receipt = Receipt(
        provider=Provider.STARS,
        external_id="charge",
        agent_id=agent.pk,
        purchase=purchase(provider=Provider.STARS),
        amount=385,
        currency="XTR",
    )
    with pytest.raises(NoPartToRefund, match="reports refunds itself"):
        refund(payments.apply_payment(receipt, now=clock.now), 100, clock)


def test_each_part_has_a_credit_note(agent: Agent, clock: Clock, settings: Any) -> None:
    settings.SELLER_NAME = "Pods Ltd"
    payment = paid(agent, clock)
    refund(payment, 200, clock)
    refund(payment, 100, clock)
    notes = Invoice.objects.filter(corrects__payment=payment).order_by("number")
    assert [note.total_usd for note in notes] == [Decimal("2.00"), Decimal("1.00")]


def test_parts_too_small_for_a_credit_note_are_on_the_last_one(agent: Agent, clock: Clock, settings: Any) -> None:
    """$5.00 in coins: ten refunds of less than half a cent, then the rest."""
    settings.SELLER_NAME = "Pods Ltd"
    payment = paid(agent, clock, cents=5_000_000)
    for _ in range(10):
        refund(payment, 4_000, clock)
    corrections.refund_payment(payment, reason=WHY, actor="operator:1", now=clock.now)
    notes = Invoice.objects.filter(corrects__payment=payment).values_list("total_usd", flat=True)
    assert sum(notes) == Decimal("5.00")


@pytest.mark.parametrize(("typed", "noted"), [("2.50", 250), ("2.5", 250), ("2", 200), (" 0.01 ", 1)])
def test_an_operator_notes_it_in_the_ledger(
    agent: Agent, payment: Payment, admin_client: Client, typed: str, noted: int
) -> None:
    operating.act(admin_client, LEDGER, "refund_part", payment, amount=typed, reason=WHY)
    assert back(agent) == [noted]


@pytest.mark.sampled
@pytest.mark.parametrize("typed", ["", "5.00", "2.505", "x", "-1", "1e2", "²", "0"])
def test_what_is_no_part_is_refused_in_the_console(
    agent: Agent, payment: Payment, admin_client: Client, typed: str
) -> None:
    page = operating.act(admin_client, LEDGER, "refund_part", payment, amount=typed, reason=WHY)
    assert "allowed" in page or "required" in page
    assert back(agent) == []


def test_an_operator_who_may_not_correct_sees_no_such_step(payment: Payment, client: Any) -> None:
    person = User.objects.create_user("reader@example.com", is_staff=True)
    reader = Client()
    reader.force_login(person)
    assert reader.get(LEDGER).status_code == 403


def test_time_that_is_worth_less_than_a_second_of_a_dear_plan_is_there_again_once_that_is_refunded(
    agent: Agent, clock: Clock
) -> None:
    clock.at(FREE_UNTIL)
    cheap = paid(agent, clock, cents=5_000_000)
    ends = cheap.subscription.current_period_end if cheap.subscription else None
    refund(cheap, 4_999_999, clock)
    dear = paid(agent, clock, "dear", tier="large", price_usd=Decimal(39))
    corrections.refund_payment(dear, reason=WHY, actor="operator:1", now=clock.now)
    row = Subscription.objects.paid().get()
    assert (row.tier, row.current_period_end) == ("tiny", ends)
