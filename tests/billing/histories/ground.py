"""Agents that live through a random history, and their models: time passes, and cards are charged."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from django.test import Client

from accounts.models import User
from agents import suspension
from agents.models import Agent, Desired
from billing import dunning, verification
from billing.models import (
    AgentTerm,
    CardSubscription,
    Payment,
)
from billing.providers.stars import orders as stars_orders
from billing.providers.stars import refunds as stars_refunds
from billing.providers.stripe import feed
from tests import operating
from tests.agents.conftest import MakeAgent, signed_in
from tests.agents.conftest import settle as rest
from tests.billing.conftest import Clock
from tests.billing.histories.model import Life, Membership, TermPart
from tests.billing.histories.sellers import Seller
from tests.billing.providers.stripe.shop import work
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer
from tests.doubles.stripe_server import StripeDouble
from tests.doubles.telegram_payments_server import TelegramPayments

DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Doubles:
    """The payment providers in these histories."""

    coins: Chain
    telegram: TelegramPayments
    gumroad: GumroadServer
    lemon: LemonSqueezyServer
    stripe: StripeDouble


@dataclass
class Sum:
    """The money of a payment, in the smallest units: how much came, and how much has gone back.

    `owed` is money whose refund failed, so it came back. `waiting` has each such amount that an operator has to decide
    about.
    """

    came: int
    gone: int = 0
    owed: int = 0
    waiting: list[int] = field(default_factory=list)

    @property
    def left(self) -> int:
        return self.came - self.gone

    @property
    def worth(self) -> int:
        """The money that is the value of the payment's time."""
        return max(0, self.left - self.owed)


@dataclass
class Disputed:
    """A dispute: its payment and amount. If all is disputed, also the time that was taken, from whom, and its plan."""

    payment: str
    cents: int
    held: bool = False
    holder: str = ""
    taken: TermPart | None = None
    tier: str = ""
    period: str = ""
    by: list[str] = field(default_factory=list)
    lost: int = 0


class Ground:
    def __init__(self, seed: int, clock: Clock, make_agent: MakeAgent, owner: User, console: Client, doubles: Doubles):
        self.chance, self.clock, self.make_agent, self.owner = random.Random(seed), clock, make_agent, owner
        self.console, self.doubles, self.log = console, doubles, list[str]()
        self.lives: dict[str, Life] = {}
        self.income: dict[str, Sum] = {}  # by row of the ledger
        self.cards: dict[str, str] = {}  # from the subscription at Stripe to the agent
        self.failed: dict[str, str] = {}  # from the subscription at Stripe to its unpaid invoice
        self.memberships: dict[str, Membership] = {}  # by licence key
        self.shops: dict[str, Seller] = {}
        self.disputes: dict[str, Disputed] = {}
        self.decided: dict[str, Disputed] = {}
        self.died: dict[str, datetime] = {}
        self.gone: set[str] = set()  # payments in the ledger that went back completely or are disputed
        self.counted = self.number = 0
        for _ in range(2):
            self._new()

    def _new(self) -> str:
        agent = rest(self.make_agent(self.owner))
        self.lives[agent.pk] = Life(self.clock.now, self.clock.now + 7 * DAY, gone=self.gone)
        return agent.pk

    def api(self) -> Any:
        return signed_in(self.owner)

    def say(self, *words: object) -> None:
        self.log.append(f"{self.clock.now:%Y-%m-%d %H:%M:%S} " + " ".join(map(str, words)))

    def alive(self) -> list[str]:
        return [pk for pk, life in self.lives.items() if not life.dead]

    def is_active(self) -> bool:
        return not any(life.suspended for life in self.lives.values())

    def live(self, to: datetime, *, lazy: bool) -> None:
        """Let time pass until `to`: cards are charged in Stripe's hour, and licences are verified when they are due."""
        for pk, life in self.lives.items():
            if life.dead and life.parts and to >= self.died[pk] + 90 * DAY:
                life.parts = []
        while True:
            world = self.doubles.stripe.world
            due = []
            for name in self.cards:
                card = world.objects[name]
                if card["status"] == "active":
                    ends = datetime.fromtimestamp(card["items"]["data"][0]["current_period_end"], UTC)
                    due.append((ends, name))
            soonest = min(due, default=(to + DAY, ""))
            stop = min(to, self.clock.now + 4 * DAY)
            if soonest[0] <= stop:
                self._to(max(soonest[0], self.clock.now), lazy=True)
                self._renew(soonest[1])
                continue
            self._to(stop, lazy=lazy and stop < to)
            if stop == to:
                return

    def _to(self, moment: datetime, *, lazy: bool) -> None:
        # Licences are verified exactly at their ends, so that no verification is late.
        ends = sorted(
            life.licence.till(life.now)
            for life in self.lives.values()
            if life.licence and life.licence.till(life.now) <= moment
        )
        for end in [*ends, moment]:
            self.clock.at(max(end, self.clock.now))
            for life in self.lives.values():
                life.advance(self.clock.now)
            while verification.verify_due():
                pass
        if not lazy:
            self._tick()

    def _tick(self) -> None:
        stars_orders.expire_due(now=self.clock.now)
        stars_refunds.send_due(now=self.clock.now)
        feed.catch_up(now=self.clock.now)
        feed.check_due(now=self.clock.now)
        work()
        suspension.enforce()
        for agent in Agent.objects.filter(pk__in=self.lives):
            if self.is_active():
                for _ in range(6):
                    dunning.step_due(now=self.clock.now)
                    rest(agent)
        for agent in Agent.objects.filter(pk__in=self.lives, desired=Desired.DELETED):
            if not self.lives[agent.pk].dead:
                self._died(agent.pk)

    def _died(self, pk: str) -> None:
        life = self.lives[pk]
        assert not life.parts, f"{pk} was deleted with paid time: {life}"
        life.dead = True
        self.say("deleted by its term", pk)
        for card in CardSubscription.objects.filter(agent=pk):
            self.cards.pop(card.subscription_id, None)

    def _renew(self, name: str) -> None:
        world, pk = self.doubles.stripe.world, self.cards[name]
        if self.chance.random() < 0.2:
            invoice = world.fail(name)
            work()
            self.say("a renewal failed", name)
            if self.chance.random() < 0.5:
                self.failed[name] = invoice["id"]
                return
            world.end(name)
            work()
            self.cards.pop(name)
            return
        invoice = world.renew(name)
        work()
        if world.objects[name]["status"] != "active" and not Payment.objects.filter(external_id=invoice["id"]).exists():
            return
        self._bought(pk, invoice["id"], *self._terms(name), provider="stripe")
        self.say("renewed by card", pk, invoice["id"])

    def _terms(self, name: str) -> tuple[str, str, Fraction]:
        order = CardSubscription.objects.get(subscription_id=name).order
        return order.tier, order.period, Fraction(order.price_usd)

    def _bought(self, pk: str, name: str, tier: str, period: str, usd: Fraction, *, provider: str) -> None:
        row = Payment.objects.get(provider=provider, external_id=name)
        assert not row.unapplied, row.unapplied
        self.counted += 1
        self.income[row.pk] = Sum(int(row.amount or 0))
        self.lives[pk].buy(row.pk, tier, period, usd)

    def some_time(self) -> timedelta:
        days = self.chance.choice([0, 0, 0, 0, 1, 2, 3, 5, 9, 14, 20, 33])
        return timedelta(days=days, seconds=self.chance.randrange(1, 86_400))

    def pick(self) -> str:
        return self.chance.choice(self.alive())

    def plan(self, pk: str) -> tuple[str, str]:
        life = self.lives[pk]
        tier = life.tier if self.chance.random() < 0.5 else self.chance.choice(["tiny", "small", "medium"])
        return tier, "annual" if self.chance.random() < 0.15 else "monthly"

    def quote(self, pk: str, tier: str, period: str, provider: str, coupon: str = "") -> Any:
        asked = {"agentId": pk, "tier": tier, "period": period, "provider": provider}
        if coupon:
            asked["coupon"] = coupon
        answer = self.api().get("/subscriptions/quote", asked)
        return answer.json()["quote"]["paidTill"] if answer.status_code == 200 else answer

    def same_as_quoted(self, pk: str, told: Any) -> None:
        assert isinstance(told, str), told.content
        till = self.lives[pk].until()
        assert till is not None
        if self.is_active():
            assert datetime.fromisoformat(told) == till, f"quoted {told}, the model says {till}"

    def term(self, pk: str) -> Any:
        return AgentTerm.objects.get(pk=pk)

    def act(self, place: str, name: str, row: Any, **typed: str) -> str:
        self.console.force_login(User.objects.get(is_superuser=True))
        return operating.act(self.console, place, name, row, **typed)

    def paid_rows(self) -> list[Payment]:
        return list(Payment.objects.filter(pk__in=self.income).order_by("at", "pk"))

    def holder(self, payment: str) -> str | None:
        found = [pk for pk, life in self.lives.items() if any(part.whose == payment for part in life.parts)]
        assert len(found) <= 1
        return found[0] if found else None

    def _gone(self, row: Payment, holder: str | None) -> None:
        self.gone.add(row.pk)
        if holder:
            self.lives[holder].take_back(row.pk)
        self.income[row.pk].gone, self.income[row.pk].waiting = self.income[row.pk].came, []
        work()
        stars_refunds.send_due(now=self.clock.now)
        self._cards()

    def _cards(self) -> None:
        for name in list(self.cards):
            if self.doubles.stripe.world.objects[name]["status"] == "canceled":
                self.cards.pop(name)
