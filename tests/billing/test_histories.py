"""Random histories of one agent's payments, compared with a model that only knows dates and prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agents.models import Agent
from agents.running import lifecycle
from billing import agent_terms, cancellation, corrections, invariants, licences, orders, payments, prices, revocations
from billing.licences import Key, Sold
from billing.models import Order, Payment, StarsOrder, StrayCharge, Subscription
from billing.orders import Terms
from billing.payments import Receipt
from billing.providers.base import ProviderAnswer, Verdict
from billing.providers.stars import charges
from billing.providers.stars import orders as stars_orders
from billing.providers.stars.updates import StarsCharge
from billing.subscriptions import TRANSITIONS, Purchase
from billing.vocabulary import OrderStatus, Period, Provider, SubscriptionStatus, TermMode
from catalog.tiers import tier_of
from config.errors import ServiceError
from config.ids import new_id
from tests.agents.conftest import MakeAgent, event_types, settle
from tests.billing.conftest import NOON, Clock, tick
from tests.billing.purchases import Model, months_after

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db]

TIERS, PERIODS = st.sampled_from(["tiny", "small"]), st.sampled_from(list(Period))
OPERATOR = "operator:usr_0"
PICK = st.integers(0, 5)


class Histories(RuleBasedStateMachine):
    def __init__(self, clock: Clock, make_agent: MakeAgent) -> None:
        super().__init__()
        self.clock, self.make_agent = clock, make_agent
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.model, self.told = Model(NOON, NOON + timedelta(days=7)), list[StarsCharge]()
        self.receipts: list[Receipt] = []
        self.placed: list[str] = []
        self.seen: dict[str, str] = {}
        self.till = NOON

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    @initialize()
    def begin(self) -> None:
        self.clock.at(NOON)
        self.agent = settle(self.make_agent())

    # The state for all comparisons.

    def rows(self) -> list[Any]:
        tables = (Subscription, Payment, Order, StarsOrder, StrayCharge)
        return [list(table.objects.order_by("pk").values()) for table in tables]

    def allowed(self, act: Callable[[], object]) -> bool:
        """Whether the action was allowed. A refused action must leave no trace."""
        before = self.rows()
        try:
            with transaction.atomic():
                act()
        except ServiceError:
            assert self.rows() == before
            return False
        return True

    def bought(self, whose: str, tier: str, period: Period, usd: Decimal) -> None:
        self.model.rows += 1
        self.model.events += 1
        if not self.is_licensed() and self.model.known:
            self.model.buy(whose, tier, period, usd)

    def is_licensed(self) -> bool:
        return Subscription.objects.live().filter(agent=self.agent, provider=Provider.GUMROAD).exists()

    def usd(self, tier: str, period: Period) -> Decimal:
        return prices.price_of(tier_of(tier), period)

    def is_alive(self) -> bool:
        return Agent.objects.get(pk=self.agent.pk).desired != "deleted"

    # Coins.

    @rule(tier=TIERS, period=PERIODS)
    def coins(self, tier: str, period: Period) -> None:
        self.buy(tier, period)

    def buy(self, tier: str, period: Period) -> None:
        usd = self.usd(tier, period)
        snapshot = prices.snapshot_of(tier, period)
        bought = Purchase(provider=Provider.USDC, tier=tier, period=period, price_usd=usd, tier_snapshot=snapshot)
        order = self._late(bought)
        receipt = Receipt(
            provider=Provider.USDC, external_id=order.pk, agent_id=self.agent.pk, purchase=bought, order_id=order.pk
        )
        payments.apply_payment(receipt, now=self.clock.now)
        self.receipts.append(receipt)
        if self.is_alive():
            self.bought(order.pk, tier, period, usd)
        else:
            self.model.rows += 1

    @precondition(lambda self: self.model.parts)
    @rule(period=PERIODS)
    def more_of_the_same(self, period: Period) -> None:
        self.buy(self.model.tier, period)

    def _late(self, bought: Purchase) -> Order:
        """An expired order, so that it replaces no other order."""
        return Order.objects.create(
            id=new_id("cry"),
            user_id=self.agent.user_id,
            agent=self.agent,
            provider=Provider.USDC,
            tier=bought.tier,
            period=bought.period,
            price_usd=bought.price_usd,
            tier_snapshot=bought.tier_snapshot,
            status=OrderStatus.EXPIRED,
            created_at=self.clock.now,
            expires_at=self.clock.now,
        )

    @precondition(lambda self: self.receipts)
    @rule(pick=PICK)
    def coins_again(self, pick: int) -> None:
        before = self.rows()
        payments.apply_payment(self.receipts[pick % len(self.receipts)], now=self.clock.now)
        assert self.rows() == before

    # Stars.

    @rule(tier=TIERS, period=PERIODS)
    def order(self, tier: str, period: Period) -> None:
        terms = Terms(Provider.STARS, tier, period)
        self.allowed(lambda: orders.place(self.agent, terms, make=partial(self._made, terms=terms), now=self.clock.now))

    def _made(self, agent: Agent, *, terms: Terms) -> Order:
        usd = self.usd(terms.tier, terms.period)
        self.placed.append(new_id("stx"))
        return StarsOrder.objects.create(
            id=self.placed[-1],
            user_id=agent.user_id,
            agent=agent,
            provider=Provider.STARS,
            tier=terms.tier,
            period=terms.period,
            price_usd=usd,
            tier_snapshot=prices.snapshot_of(terms.tier, terms.period),
            created_at=self.clock.now,
            expires_at=self.clock.now + stars_orders.TTL,
            amount_stars=stars_orders.in_stars(usd, Decimal("0.013")),
            star_usd=Decimal("0.013"),
            invoice_link="https://t.me/$x",
        )

    @precondition(lambda self: self.placed)
    @rule(pick=PICK, short=st.integers(0, 1))
    def charge(self, pick: int, short: int) -> None:
        """Charge one of the orders, in any status."""
        placed = StarsOrder.objects.get(pk=self.placed[-1 - pick % len(self.placed)])
        amount = placed.amount_stars - (short if pick == 1 else 0)
        one = StarsCharge(id=new_id("chg"), payer_id=77, currency="XTR", amount=amount, payload=placed.pk)
        counts = placed.status != OrderStatus.PAID and amount == placed.amount_stars and self.is_alive()
        charges.take(one, now=self.clock.now)
        self.told.append(one)
        self.model.charged[one.id] = amount
        if counts:
            self.bought(one.id, placed.tier, Period(placed.period), placed.price_usd)
        else:
            self.model.rows += 1

    @precondition(lambda self: self.told)
    @rule(pick=PICK)
    def charge_again(self, pick: int) -> None:
        before = self.rows()
        charges.take(self.told[pick % len(self.told)], now=self.clock.now)
        assert self.rows() == before

    @precondition(lambda self: self.told)
    @rule(pick=PICK)
    def give_back(self, pick: int) -> None:
        self._returned(self.told[pick % len(self.told)])

    def _returned(self, one: StarsCharge) -> None:
        known = charges.settled([one.id])[1]
        charges.give_back(one, now=self.clock.now)
        if not known:
            self.model.rows += 1
            self.model.take_back(one.id)
        before = self.rows()
        charges.give_back(one, now=self.clock.now)
        assert self.rows() == before

    # A licence, whose time the provider counts.

    @precondition(lambda self: len(self.receipts) > 1)
    @rule(tier=TIERS, months=st.integers(0, 2))
    def licence(self, tier: str, months: int) -> None:
        self.till = max(months_after(self.till, months, NOON.day), months_after(self.clock.now, 1, NOON.day))
        verdict = Verdict(
            answer=ProviderAnswer.PAID,
            external_ref="membership-1",
            till=self.till,
            tier=tier,
            period=Period.MONTHLY,
            price_usd=self.usd(tier, Period.MONTHLY),
        )
        sold = Sold(key=Key(provider=Provider.GUMROAD, text="KEY"), verdict=verdict)
        confirmed, rows = self.counts()
        if self.allowed(lambda: licences.receive(self.agent.pk, sold, actor="billing", now=self.clock.now)):
            before = self.rows()[1:]
            licences.receive(self.agent.pk, sold, actor="billing", now=self.clock.now)
            assert self.rows()[1:] == before
            self.model.events += self.counts()[0] - confirmed
            self.model.rows += self.counts()[1] - rows
            assert self.counts()[0] - confirmed in {0, 1}
            self.model.forget()

    @rule()
    def licence_is_over(self) -> None:
        row = Subscription.objects.live().filter(agent=self.agent, provider=Provider.GUMROAD).first()
        if row is not None:
            _, rows = self.counts()
            revocations.revoke(row.pk, reason="refunded there", actor="billing", now=self.clock.now)
            self.model.rows += self.counts()[1] - rows

    def counts(self) -> tuple[int, int]:
        return event_types(self.agent).count("payment.confirmed"), Payment.objects.filter(agent=self.agent).count()

    # People.

    @rule()
    def cancel(self) -> None:
        row = Subscription.objects.filter(agent=self.agent).order_by("created_at", "status", "provider", "tier").first()
        if row is not None:
            self.allowed(lambda: cancellation.cancel(self.agent.user, row.pk, actor="user:x", now=self.clock.now))

    @precondition(lambda self: self.is_alive())
    @rule(what=st.sampled_from(["grant", "revoke", "refund"]))
    def correct(self, what: str) -> None:
        rows = Payment.objects.count()
        correction = getattr(corrections, what)
        if self.allowed(lambda: correction(self.agent, reason="why", actor=OPERATOR, now=self.clock.now)):
            self.model.rows += Payment.objects.count() - rows
            if what == "refund":
                self.model.parts = []

    @rule()
    @precondition(lambda self: len(self.receipts) > 3)
    def delete(self) -> None:
        if self.is_alive():
            lifecycle.delete(Agent.objects.get(pk=self.agent.pk), actor="user:x")

    @rule(days=st.sampled_from([0, 1, 3, 10, 40]), hours=st.integers(1, 23))
    def time_passes(self, days: int, hours: int) -> None:
        """Move the clock a day at a time, with the regular tasks."""
        for _ in range(max(1, days // 5)):
            self.clock.go(timedelta(days=min(days, 5), hours=hours))
            stars_orders.expire_due(now=self.clock.now)
            tick(self.agent, self.clock)
        for due in StrayCharge.objects.exclude(refund_at=None).values_list("pk", flat=True):
            self._returned(next(one for one in self.told if one.id == due))
        self.model.time(self.clock.now)

    # Must be true after each step.

    @invariant()
    def every_payment_is_one_row_and_one_event(self) -> None:
        assert self.counts() == (self.model.events, self.model.rows)

    @invariant()
    def every_star_is_in_the_ledger_once(self) -> None:
        stars = Payment.objects.filter(provider=Provider.STARS, kind="payment")
        assert {row.external_id: int(row.amount or 0) for row in stars} == self.model.charged

    @invariant()
    def an_order_is_paid_by_one_payment(self) -> None:
        for one in Order.objects.all():
            paid = one.payments.filter(kind="payment", subscription__isnull=False).count()
            assert paid == (one.status == OrderStatus.PAID), one
            self.moved(one.pk, one.status, {str(was): set(map(str, to)) for was, to in orders.TRANSITIONS.items()})

    @invariant()
    def a_subscription_moves_as_its_table_says(self) -> None:
        for row in Subscription.objects.all():
            self.moved(row.pk, row.status, {str(was): set(map(str, to)) for was, to in TRANSITIONS.items()})
            assert (row.status == SubscriptionStatus.EXPIRED) == (row.expired_at is not None)

    def moved(self, name: str, status: str, moves: dict[str, set[str]]) -> None:
        """Check a change of status; one rule may take more than one step."""
        was = self.seen.get(name, status)
        reachable = moves[was] | {further for one in moves[was] for further in moves[one]}
        assert status == was or status in reachable, (name, was, status)
        self.seen[name] = str(status)

    @invariant()
    def it_is_paid_until_when_the_model_says(self) -> None:
        if self.is_licensed() or not self.is_alive():
            self.model.forget()
            return
        row = Subscription.objects.paid().filter(agent=self.agent).first()
        if not self.model.known:
            self.model.known = row is None
        elif row is None:
            assert self.model.parts == []
        elif self.model.parts:
            assert (row.tier, row.current_period_end) == (self.model.tier, self.model.until)
        else:
            assert row.current_period_end <= self.clock.now

    @invariant()
    def the_agent_carries_its_term_and_nothing_contradicts_an_invariant(self) -> None:
        agent = Agent.objects.get(pk=self.agent.pk)
        if self.is_alive():
            mode = agent_terms.term(agent, now=self.clock.now).mode
            assert agent.paid == (mode in {TermMode.PAID, TermMode.INTERNAL})
        assert invariants.broken(now=self.clock.now) == []


def histories(clock: Clock, make_agent: MakeAgent, *, examples: int, steps: int, phases: Sequence[Phase]) -> None:
    limits = settings(
        phases=phases,
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(partial(Histories, clock, make_agent), settings=limits)  # type: ignore[arg-type]  # any factory


def test_whatever_happens_to_money_it_counts_once_and_is_paid_until_the_right_day(
    clock: Clock, make_agent: MakeAgent
) -> None:
    histories(clock, make_agent, examples=3, steps=10, phases=[Phase.reuse, Phase.generate])


@pytest.mark.slow
def test_whatever_happens_to_money_for_a_long_time(clock: Clock, make_agent: MakeAgent) -> None:
    histories(clock, make_agent, examples=60, steps=40, phases=list(Phase))
