"""Payments count exactly once; the time that they buy, and the effect on earlier paid time."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from pytest_django import Settings

from accounts.models import Letter, User
from agents.models import Agent, Reason
from agents.running import lifecycle
from billing import agent_terms, corrections, payments, prices
from billing.errors import LicenceHeld, NothingGranted, NothingToRefund
from billing.invoicing.taxes import Tax
from billing.models import Invoice, Order, Payment, Subscription
from billing.payments import Receipt
from billing.vocabulary import OrderStatus, PaymentKind, Period, Provider, SubscriptionStatus, TermMode
from catalog.tiers import tier_of
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.billing.conftest import DAY, FREE_UNTIL, NOON, Clock, Pay, licence, purchase, tick
from webhooks.models import Event

pytestmark = pytest.mark.django_db

ACTIVE, CANCELED, EXPIRED = SubscriptionStatus.ACTIVE, SubscriptionStatus.CANCELED, SubscriptionStatus.EXPIRED
SECOND = timedelta(seconds=1)
OPERATOR = "operator:usr_0"


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


def live(agent: Agent) -> Subscription:
    return Subscription.objects.paid().get(agent=agent)


def confirmed(agent: Agent) -> list[dict[str, object]]:
    events = Event.objects.filter(agent=agent, type="payment.confirmed").order_by("created_at")
    return [json.loads(event.body)["data"] for event in events]


def test_a_payment_is_one_subscription_one_row_and_one_event(agent: Agent, pay: Pay) -> None:
    row = pay(agent)
    subscription = live(agent)
    assert (row.subscription, row.kind, row.paid_till) == (
        subscription,
        PaymentKind.PAYMENT,
        FREE_UNTIL.replace(month=12),
    )
    assert confirmed(agent) == [
        {
            "subscriptionId": subscription.pk,
            "provider": "usdc",
            "tier": "tiny",
            "period": "monthly",
            "paidTill": "2026-12-28T12:00:00Z",
        }
    ]
    agent.refresh_from_db()
    assert (agent.paid, agent.entitled_until) == (True, FREE_UNTIL.replace(month=12))


def test_the_ledger_keeps_all_that_a_provider_told_and_the_order_is_paid(agent: Agent, clock: Clock) -> None:
    made = {"tier": "tiny", "period": Period.MONTHLY, "price_usd": Decimal("5.00"), "tier_snapshot": {}}
    order = Order.objects.create(
        id="ord_1", user=agent.user, agent=agent, provider=Provider.USDT, created_at=NOON, expires_at=NOON + DAY, **made
    )
    receipt = Receipt(
        provider=Provider.USDT, external_id="0xabc", kind=PaymentKind.RENEWAL, agent_id=agent.pk, order_id=order.pk,
        purchase=purchase(provider=Provider.USDT), amount=5_100_000, currency="USDT", over=100_000, late=True,
        actor="stablecoins", reason="late money",
    )  # fmt: skip
    payments.apply_payment(receipt, now=NOON + SECOND)
    row = Payment.objects.get()
    assert (row.provider, row.external_id, row.kind, row.order) == (Provider.USDT, "0xabc", PaymentKind.RENEWAL, order)
    assert (row.agent, row.user) == (agent, agent.user)
    assert (row.tier, row.period, row.price_usd) == ("tiny", Period.MONTHLY, Decimal("5.00"))
    money = Decimal(5_100_000), "USDT", Decimal(100_000)
    assert (row.amount, row.currency, row.over, row.late) == (*money, True)
    assert (row.actor, row.reason, row.at, row.unapplied) == ("stablecoins", "late money", NOON + SECOND, "")
    order.refresh_from_db()
    assert (order.status, order.paid_at) == (OrderStatus.PAID, NOON + SECOND)
    assert Event.objects.get(type="payment.confirmed").created_at == NOON + SECOND


def test_a_payment_in_time_and_of_the_right_amount_is_neither_late_nor_over(agent: Agent, pay: Pay) -> None:
    row = pay(agent)
    assert (row.amount, row.over, row.late) == (None, Decimal(0), False)
    assert (row.refund_of, row.order, row.converted) == (None, None, timedelta(0))


def test_money_that_goes_back_names_its_payment(agent: Agent, pay: Pay) -> None:
    first = pay(agent)
    receipt = Receipt(
        provider=Provider.USDC, external_id="back", kind=PaymentKind.REFUND, agent_id=agent.pk, purchase=purchase(),
        refund_of=first.pk, actor=OPERATOR, reason="asked for", amount=500, currency="USDC",
    )  # fmt: skip
    row = payments.write(receipt, agent, now=NOON, subscription=first.subscription)
    assert (row.refund_of, row.reason, row.actor, row.subscription) == (
        first,
        "asked for",
        OPERATOR,
        first.subscription,
    )


def test_a_row_sends_its_mail_unless_it_is_told_otherwise(agent: Agent) -> None:
    rows = [
        Receipt(provider=Provider.USDC, external_id=name, agent_id=agent.pk, purchase=purchase(), amount=500)
        for name in ("one", "two")
    ]
    payments.write(rows[0], agent, now=NOON, unapplied="too late")
    payments.write(rows[1], agent, now=NOON, unapplied="too late", mailed=False)
    assert Letter.objects.filter(user=agent.user_id).count() == 1


def test_the_invoice_has_the_tax_that_the_provider_computed_and_the_receipt_names_the_invoice(
    agent: Agent, settings: Settings
) -> None:
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Quay ; Dublin", "IE"
    receipt = Receipt(
        provider=Provider.STRIPE, external_id="in_1", agent_id=agent.pk, amount=500, currency="USD",
        purchase=purchase(provider=Provider.STRIPE), tax=Tax(name="VAT", percent=Decimal(19), usd=Decimal("0.81")),
    )  # fmt: skip
    row = payments.apply_payment(receipt, now=NOON + DAY)
    invoice = Invoice.objects.get(payment=row)
    assert (invoice.tax_name, invoice.tax_usd, invoice.created_at) == ("VAT", Decimal("0.81"), NOON + DAY)
    assert invoice.number in Letter.objects.get(user=agent.user_id).text


def test_what_the_database_refuses_for_another_reason_is_no_payment_that_is_known(agent: Agent) -> None:
    receipt = Receipt(
        provider=Provider.USDC, external_id="one", agent_id=agent.pk, purchase=purchase(), amount=500, over=-1
    )
    with pytest.raises(IntegrityError, match="payment_over"):
        payments.apply_payment(receipt, now=NOON)
    assert not Subscription.objects.exists()


def test_told_again_it_changes_nothing(agent: Agent, pay: Pay, clock: Clock) -> None:
    first = pay(agent)
    clock.go(DAY)
    assert pay(agent) == first
    assert (len(confirmed(agent)), live(agent).current_period_end) == (1, FREE_UNTIL.replace(month=12))


def test_told_again_for_another_agent_it_is_still_the_first_one(agent: Agent, make_agent: MakeAgent, pay: Pay) -> None:
    first = pay(agent)
    other = make_agent()
    assert pay(other) == first
    assert not Subscription.objects.filter(agent=other).exists()


def test_an_early_renewal_is_added_after_the_current_end(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    clock.go(10 * DAY)
    pay(agent, "two")
    assert live(agent).current_period_end == FREE_UNTIL.replace(year=2027, month=1)
    assert Subscription.objects.filter(agent=agent).count() == 1


def test_what_is_over_before_any_worker_noticed_begins_anew_with_a_whole_month(
    agent: Agent, pay: Pay, clock: Clock
) -> None:
    pay(agent)
    clock.at(NOON.replace(year=2027, month=1, day=20))
    assert live(agent).current_period_end == FREE_UNTIL.replace(month=12)
    pay(agent, "two")
    assert live(agent).current_period_end == NOON.replace(year=2027, month=2, day=20)
    pay(agent, "three")
    assert live(agent).current_period_end == NOON.replace(year=2027, month=3, day=20)


def test_what_is_bought_beside_a_licence_that_ran_out_unnoticed_begins_now(
    agent: Agent, pay: Pay, clock: Clock
) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(till=NOON + DAY))
    clock.go(5 * DAY)
    pay(agent, "two")
    assert agent_terms.term(agent, now=clock.now).paid_till == FREE_UNTIL + 30 * DAY, "after the free days"


def test_the_day_of_the_month_is_kept(agent: Agent, pay: Pay, clock: Clock) -> None:
    clock.at(NOON.replace(year=2027, month=1, day=25))
    corrections.grant(agent, reason="until the test", actor=OPERATOR, now=clock.now)
    clock.at(NOON.replace(year=2027, month=1, day=31))
    ends = [pay(agent, str(number)).paid_till for number in range(3)]
    assert [f"{end:%m-%d}" for end in ends if end] == ["02-28", "03-31", "04-30"]


def test_another_plan_takes_over_the_value_that_is_left(agent: Agent, pay: Pay, clock: Clock) -> None:
    """The rest of five dollars, on a plan at ten dollars for a twelfth of a year."""
    pay(agent, price_usd=Decimal("5.00"))
    clock.at(FREE_UNTIL + 10 * DAY)
    row = pay(agent, "two", tier="small", price_usd=Decimal("10.00"))
    old, new = Subscription.objects.get(status=EXPIRED), live(agent)
    assert (old.current_period_end, old.expired_at) == (clock.now, clock.now)
    left = timedelta(seconds=5 * 20 * 365 * 86_400 // (30 * 120))
    assert row.converted == left
    assert new.current_period_end == clock.now.replace(year=2027, month=1) + left
    agent.refresh_from_db()
    assert agent.tier == "small"


def test_on_another_plan_each_payment_is_worth_what_was_paid_for_it(agent: Agent, pay: Pay, clock: Clock) -> None:
    """An unused year for $60 and a month for $10 are $70 together: seven months at $10."""
    pay(agent, period=Period.ANNUAL, price_usd=Decimal("60.00"))
    pay(agent, "two", price_usd=Decimal("10.00"))
    row = pay(agent, "three", tier="small", price_usd=Decimal("10.00"))
    of_each = [timedelta(seconds=usd * 365 * 86_400 // 120) for usd in (60, 10)]
    assert row.converted == sum(of_each, timedelta(0))


def test_a_cheap_licence_makes_no_other_money_cheap(agent: Agent, pay: Pay, clock: Clock) -> None:
    """Time bought beside a free licence costs the list price of the licence's plan."""
    till = NOON + 30 * DAY
    snapshot = {"id": "small", "monthlyUsd": 10, "annualUsd": 100}
    plan = {"tier": "small", "price_usd": Decimal(0), "tier_snapshot": snapshot}
    pay(agent, provider=Provider.GUMROAD, licence=licence(till), **plan)
    pay(agent, "coins", tier="tiny", price_usd=Decimal(5))
    assert live(agent).current_period_end == till + timedelta(seconds=5 * 365 * 86_400 // 120)


def test_a_licence_is_paid_until_its_providers_date(agent: Agent, pay: Pay, clock: Clock) -> None:
    till = NOON + 30 * DAY
    pay(agent, provider=Provider.GUMROAD, licence=licence(till))
    pay(agent, "renewed", provider=Provider.GUMROAD, licence=licence(till + 31 * DAY))
    assert live(agent).current_period_end == till + 31 * DAY
    pay(agent, "confused", provider=Provider.GUMROAD, licence=licence(till))
    assert live(agent).current_period_end == till + 31 * DAY, "never shortened"


def test_what_is_bought_beside_a_licence_is_added_to_it(agent: Agent, pay: Pay) -> None:
    till = NOON + 30 * DAY
    pay(agent, provider=Provider.GUMROAD, licence=licence(till), period=Period.ANNUAL)
    pay(agent, "coins")
    assert live(agent).current_period_end == till + 30 * DAY
    told = confirmed(agent)[-1]
    assert (told["subscriptionId"], told["provider"], told["period"]) == (live(agent).pk, "usdc", "monthly")
    pay(agent, "renewed", provider=Provider.GUMROAD, licence=licence(till + 31 * DAY))
    assert live(agent).current_period_end == till + 61 * DAY


def test_a_licence_takes_over_what_coins_had_bought(agent: Agent, pay: Pay) -> None:
    pay(agent)
    pay(agent, "card", provider=Provider.GUMROAD, licence=licence(NOON + 365 * DAY))
    assert live(agent).provider == Provider.GUMROAD
    assert live(agent).current_period_end == NOON + 395 * DAY


def test_a_second_licence_on_one_agent_is_refused_and_leaves_nothing(agent: Agent, pay: Pay) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    with pytest.raises(LicenceHeld):
        pay(agent, "two", provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY, key="KEY-2", ref="sub-2"))
    assert Payment.objects.count() == 1


def test_a_licence_that_is_paid_again_is_the_same_subscription(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    corrections.refund(agent, reason="asked", actor=OPERATOR, now=clock.now)
    pay(agent, "again", provider=Provider.GUMROAD, licence=licence(NOON + 60 * DAY))
    row = Subscription.objects.get(agent=agent)
    assert (row.status, row.expired_at, row.current_period_end) == (ACTIVE, None, NOON + 60 * DAY)


def test_a_refund_ends_it_now_and_grace_begins(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    clock.at(FREE_UNTIL + 10 * DAY)
    corrections.refund(agent, reason="asked for it", actor=OPERATOR, now=clock.now)
    term = agent_terms.term(agent, now=clock.now)
    assert (term.mode, term.stops_at) == (TermMode.GRACE, clock.now + 3 * DAY)
    with pytest.raises(NothingToRefund):
        corrections.refund(agent, reason="asked for it", actor=OPERATOR, now=clock.now)


def test_a_credit_is_days_of_the_same_plan_without_an_event(agent: Agent, clock: Clock) -> None:
    corrections.credit(agent, days=10, reason="an outage", actor=OPERATOR, now=clock.now)
    term = agent_terms.term(agent, now=clock.now)
    assert (term.mode, term.paid_till, term.paid_provider) == (TermMode.PAID, FREE_UNTIL + 10 * DAY, None)
    assert confirmed(agent) == []


def test_a_credit_on_what_is_paid_changes_neither_its_plan_nor_its_price(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent, period=Period.ANNUAL, price_usd=Decimal("50.00"))
    corrections.credit(agent, days=10, reason="an outage", actor=OPERATOR, now=clock.now)
    row = live(agent)
    assert (row.period, row.price_usd, row.provider) == (Period.ANNUAL, Decimal("50.00"), Provider.USDC)
    assert row.current_period_end == FREE_UNTIL.replace(year=2027) + 10 * DAY


def test_a_credit_alone_is_worth_what_its_plan_is_sold_for(agent: Agent, pay: Pay, clock: Clock) -> None:
    corrections.credit(agent, days=30, reason="an outage", actor=OPERATOR, now=clock.now)
    usd = prices.price_of(tier_of("tiny"), Period.MONTHLY) * 2
    pay(agent, tier="small", price_usd=usd, tier_snapshot={"id": "small", "monthlyUsd": str(usd)})
    assert timedelta(0) <= FREE_UNTIL.replace(month=12) + 15 * DAY - live(agent).current_period_end < 2 * SECOND


def test_a_grant_comes_before_what_is_paid_and_gives_it_back_when_revoked(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    first = corrections.grant(agent, reason="ours", actor=OPERATOR, now=clock.now)
    assert corrections.grant(agent, reason="ours", actor=OPERATOR, now=clock.now) == first
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.INTERNAL
    corrections.revoke(agent, reason="no longer", actor=OPERATOR, now=clock.now)
    assert agent_terms.term(agent, now=clock.now).mode == TermMode.PAID
    with pytest.raises(NothingGranted):
        corrections.revoke(agent, reason="no longer", actor=OPERATOR, now=clock.now)


def test_money_for_a_deleted_agent_is_kept_for_an_operator(
    agent: Agent, pay: Pay, caplog: pytest.LogCaptureFixture
) -> None:
    lifecycle.delete(agent, actor="user:x")
    row = pay(agent)
    alarm = next(one for one in caplog.records if one.message == "money for a deleted agent")
    assert (alarm.levelname, alarm.__dict__["agent"], alarm.__dict__["payment"]) == ("ERROR", agent.pk, "one")
    assert (row.subscription, row.converted, row.unapplied) == (None, timedelta(0), payments.DELETED)
    assert pay(agent) == row
    assert confirmed(agent) == []


def test_the_ledger_is_append_only(agent: Agent, pay: Pay) -> None:
    row = pay(agent)
    for change in ("UPDATE billing_payment SET reason = 'changed'", "DELETE FROM billing_payment"):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{change} WHERE id = %s", [row.pk])


@pytest.mark.parametrize("constraint", ["subscription_one_paid", "subscription_one_key"])
def test_the_database_itself_refuses_a_second_one(
    agent: Agent, make_agent: MakeAgent, pay: Pay, constraint: str
) -> None:
    pay(agent, provider=Provider.GUMROAD, licence=licence(NOON + 30 * DAY))
    row = live(agent)
    row.pk, row._state.adding = "sub_other", True
    row.external_ref = "another"
    if constraint == "subscription_one_key":
        row.agent = make_agent()
    with pytest.raises(DatabaseError, match=constraint), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.django_db(transaction=True)
def test_fifty_threads_that_confirm_one_payment_make_one_subscription_and_one_event(
    owner: User, make_agent: MakeAgent
) -> None:
    agent = settle(make_agent())
    receipt = Receipt(provider=Provider.USDC, external_id="cry_1", agent_id=agent.pk, purchase=purchase())

    def confirm(_: int) -> str:
        try:
            return payments.apply_payment(receipt, now=agent.created_at).pk
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        rows = set(pool.map(confirm, range(50)))
    assert len(rows) == 1
    assert (Subscription.objects.count(), len(confirmed(agent)), Payment.objects.count()) == (1, 1, 1)


def test_the_pod_of_a_larger_plan_gets_its_size_in_place(agent: Agent, pay: Pay, clock: Clock) -> None:
    before = agent.spec_revision
    pay(agent, tier="medium", price_usd=Decimal("20.00"))
    agent = tick(agent, clock)
    assert (agent.tier, agent.spec_revision, agent.status) == ("medium", before + 1, "running")
    assert event_types(agent) == ["agent.running", "payment.confirmed"]


def test_everything_that_money_did_is_on_the_timeline(agent: Agent, pay: Pay, clock: Clock) -> None:
    pay(agent)
    corrections.refund(agent, reason="asked", actor=OPERATOR, now=clock.now)
    notes = list(agent.transitions.filter(reason=Reason.PAYMENT).order_by("id").values_list("actor", flat=True))
    assert notes == ["billing", OPERATOR]
