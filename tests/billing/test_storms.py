"""Fifty threads at once on a real database: each refund, move, order and report counts once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient
from stripe import WebhookSignature

from accounts.models import User
from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, corrections, dunning, invariants, moving, part_refunds, payments
from billing.models import Invoice, Order, Payment, Span, StripeEvent, StripeOrder, Subscription
from billing.payments import Receipt
from billing.providers.stripe import inbox, refresh, sending
from billing.providers.stripe.refresh import StripeKind
from billing.vocabulary import Provider
from config.errors import ServiceError
from tests.agents.conftest import MakeAgent, signed_in
from tests.agents.conftest import settle as come_to_rest
from tests.billing.conftest import DAY, FREE_UNTIL, Clock, purchase
from tests.billing.providers.stripe.conftest import invoices
from tests.billing.providers.stripe.shop import PlaceOrder, deliver, placing, work
from tests.doubles.chain import Chain
from tests.doubles.stripe_protocol import StripeRefusal
from tests.doubles.stripe_server import SECRET, StripeDouble, wire

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

THREADS = 50
WHY = {"reason": "asked", "actor": "operator:usr_0"}
CHANCE = random.Random(7)


@pytest.fixture
def agent(clock: Clock, running: Agent) -> Agent:
    return running


@pytest.fixture
def place(client: APIClient, agent: Agent, stripe: StripeDouble) -> PlaceOrder:
    return placing(client, agent)


def storm(acts: Sequence[Callable[[], object]]) -> list[str]:
    """Run all of these at once. Returns the errors; refusals by the rules are not errors."""
    problems: list[str] = []
    gate = threading.Barrier(THREADS)

    def run(act: Callable[[], object]) -> None:
        gate.wait(60)
        try:
            with suppress(ServiceError):
                act()
        except Exception as error:  # noqa: BLE001 # whatever it is, it is told
            problems.append(f"{type(error).__name__}: {error}"[:300])
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[acts[number % len(acts)]]) for number in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return problems


class Codes:
    """The answers to webhooks: to Stripe's, and to forged, old and huge ones."""

    def __init__(self, bodies: list[str], clock: Clock) -> None:
        self.bodies, self.clock = bodies, clock
        self.taken, self.refused = set[int](), set[int]()

    def good(self) -> None:
        for body in CHANCE.sample(self.bodies, len(self.bodies)):
            self.taken.add(deliver(body, signed(body)))
        inbox.process_due(now=self.clock.now)

    def forged(self) -> None:
        body = CHANCE.choice(self.bodies).replace("evt_", "evt_9")
        for signature in (signed(body + " "), "", signed(body, age=3_600)):
            self.refused.add(deliver(body, signature))

    def huge(self) -> None:
        body = '{"id": "evt_1", "x": "' + "a" * 400_000 + '"}'
        self.refused.add(deliver(body, signed(body)))


def signed(body: str, *, age: int = 0) -> str:
    at = int(time.time()) - age
    return f"t={at},v1={WebhookSignature._compute_signature(f'{at}.{body}', SECRET)}"  # the signature that Stripe makes


def received(agent: Agent, name: str, clock: Clock) -> Payment:
    """A payment of $5 in coins."""
    receipt = Receipt(
        provider=Provider.USDC, external_id=name, agent_id=agent.pk, purchase=purchase(), amount=500, currency="usd"
    )
    return payments.apply_payment(receipt, now=clock.now)


def test_parts_and_the_whole_of_one_payment_go_back_once(agent: Agent, clock: Clock) -> None:
    payment = received(agent, "one", clock)
    acts: list[Callable[[], object]] = [
        lambda: part_refunds.refund_part(payment, amount=100, now=clock.now, **WHY),
        lambda: corrections.refund_payment(payment, now=clock.now, **WHY),
        lambda: corrections.refund(Agent.objects.get(pk=agent.pk), now=clock.now, **WHY),
        lambda: dunning.step(agent.pk, now=clock.now),
        lambda: corrections.credit(agent, days=1, now=clock.now, **WHY),
    ]
    assert storm(acts) == []
    back = [int(row.amount or 0) for row in Payment.objects.filter(kind="refund")]
    assert sum(back) == 500, back
    left = agent_terms.term(Agent.objects.get(pk=agent.pk), now=clock.now).paid_till
    assert left == FREE_UNTIL + 10 * DAY
    assert [one for one in invariants.broken(now=clock.now) if "no paid order" not in one] == []


@pytest.mark.sampled
def test_what_a_deleted_agent_left_is_moved_once(
    agent: Agent, make_agent: MakeAgent, owner: User, clock: Clock, settings: Settings
) -> None:
    settings.MAX_FREE_AGENTS = 100
    heirs = [come_to_rest(make_agent(owner)) for _ in range(4)]
    rows = [received(agent, name, clock) for name in ("one", "two", "three")]
    lifecycle.delete(agent, actor="user:x")
    dunning.step(agent.pk, now=clock.now)
    left = Subscription.objects.get(agent=agent)
    acts: list[Callable[[], object]] = [
        *(partial(moving.move, owner, left.pk, to=heir, actor="user:x", now=clock.now) for heir in heirs),
        lambda: corrections.refund_payment(rows[0], now=clock.now, **WHY),
        lambda: dunning.step(agent.pk, now=clock.now),
        *(partial(corrections.credit, heir, days=1, now=clock.now, **WHY) for heir in heirs),
    ]
    assert storm(acts) == []
    assert Payment.objects.filter(kind="move").count() == 1
    assert Payment.objects.filter(kind="refund").count() == 1
    spans = {span.payment_id for span in Span.objects.filter(subscription__status="active", is_gift=False)}
    assert spans == {rows[1].pk, rows[2].pk}
    assert invariants.broken(now=clock.now) == []


@pytest.mark.sampled
def test_of_orders_of_other_terms_one_stays_and_no_checkout_that_nobody_waits_for(
    client: APIClient, owner: User, agent: Agent, stripe: StripeDouble, coins: Chain, clock: Clock
) -> None:
    answers: list[int] = []
    caller = [signed_in(owner) for _ in range(THREADS)]

    def ask(number: int) -> None:
        tier = ["tiny", "small", "medium"][number % 3]
        body = {"agentId": agent.pk, "period": "monthly", "tier": tier}
        if number % 2:
            answer = caller[number].post("/stripe/orders", body, format="json")
        else:
            answer = caller[number].post("/crypto/orders", {**body, "asset": "usdt"}, format="json")
        answers.append(answer.status_code)

    assert storm([partial(ask, number) for number in range(THREADS)]) == []
    assert set(answers) <= {200, 409, 429, 503}, sorted(set(answers))
    assert Order.objects.filter(status="pending").count() == 1
    open_ = [one for one in stripe.world.all("checkout.session") if one["status"] == "open"]
    pending = set(StripeOrder.objects.filter(status="pending").values_list("session_id", flat=True))
    assert {one["id"] for one in open_} <= pending, f"{len(open_)} checkouts can be paid, {len(pending)} orders wait"


@pytest.mark.sampled
def test_webhooks_in_any_order_many_times_forged_and_huge_count_once(
    client: APIClient, agent: Agent, place: PlaceOrder, stripe: StripeDouble, clock: Clock
) -> None:
    placed = place()
    stripe.waiting = True
    made = stripe.world.pay(placed.session_id)
    name = made["id"]
    stripe.world.renew(name)
    stripe.world.renew(name)
    third = stripe.world.renew(name)
    stripe.world.refund(stripe.world.charge_of(third["id"])["id"], 100)
    second = invoices(stripe)[1]
    stripe.world.dispute(stripe.world.charge_of(second["id"])["id"])

    codes = Codes([wire(event) for event in stripe.world.events], clock)
    assert storm([codes.good, codes.good, codes.good, codes.forged, codes.huge]) == []
    for _ in range(4):
        clock.go(timedelta(minutes=3))
        while inbox.process_due(now=clock.now):
            pass
    assert codes.taken == {200}
    assert 200 not in codes.refused
    assert Payment.objects.filter(kind__in=["payment", "renewal"]).count() == 4
    assert Payment.objects.filter(kind="refund").count() == 1
    assert Payment.objects.filter(kind="revoke").count() == 1
    assert not StripeEvent.objects.filter(due_at__isnull=False).exists()
    assert [
        one
        for one in invariants.broken(now=clock.now)
        if "reported nothing" not in one and "a step of its term" not in one
    ] == []


def test_a_card_payment_that_goes_back_from_all_sides_goes_back_once(
    client: APIClient, agent: Agent, place: PlaceOrder, stripe: StripeDouble, clock: Clock, settings: Settings
) -> None:
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    stripe.world.pay(place().session_id)
    work()
    payment = Payment.objects.get()
    stripe.waiting = True
    charge = stripe.world.charge_of(invoices(stripe)[0]["id"])

    def at_stripe() -> None:
        with suppress(StripeRefusal):
            stripe.world.refund(charge["id"], 100)
        refresh.look(StripeKind.CHARGE, charge["id"], now=clock.now)

    acts: list[Callable[[], object]] = [
        at_stripe,
        lambda: corrections.refund_payment(payment, now=clock.now, **WHY),
        lambda: corrections.refund(Agent.objects.get(pk=agent.pk), now=clock.now, **WHY),
        lambda: sending.send_due(now=clock.now),
        lambda: dunning.step(agent.pk, now=clock.now),
    ]
    assert storm(acts) == []
    for _ in range(3):
        clock.go(timedelta(minutes=5))
        sending.send_due(now=clock.now)
        refresh.look(StripeKind.CHARGE, charge["id"], now=clock.now)
    rows = Payment.objects.filter(kind="refund", amount__isnull=False)
    assert sum(int(row.amount or 0) for row in rows) == charge["amount_refunded"] == 500
    notes = Invoice.objects.filter(kind="credit_note")
    assert sum(note.total_usd for note in notes) == Decimal(5)
    assert not Subscription.objects.paid().exists()
