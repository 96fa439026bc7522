"""The same year through the product's own rules: a database, a moving clock, and a runtime that obeys."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import time_machine

from accounts.models import User
from agents import creation, suspension
from agents.models import Agent
from agents.running import reconciler
from billing import agent_terms, corrections, dunning, invariants, payments, prices
from billing.models import Payment
from billing.payments import Receipt
from billing.subscriptions import Purchase
from billing.vocabulary import Period, Provider, TermMode
from catalog.tiers import tier_of
from tests.year.model import HOUR, LEAP, LOOKS, YearLife
from webhooks.models import Event

BEGIN = datetime(2027, 1, 28, 12, tzinfo=UTC)
OPERATOR = "operator:usr_0"
TIER = "tiny"
TIERS = ["tiny", "tiny", "small", "medium"]


class Year:
    """Agents, each with its own account; the seed decides their histories."""

    def __init__(self, agents: int, *, seed: int, persona_id: str) -> None:
        self.chance = random.Random(seed)
        self.persona_id = persona_id
        self.paid = 0
        self.asleep_until = self.end = BEGIN
        self.lives: dict[str, YearLife] = {}
        self.users: dict[str, User] = {}
        with time_machine.travel(BEGIN, tick=False):
            for number in range(agents):
                agent = self._create(number)
                self.lives[agent.pk] = YearLife(BEGIN)
            self._reconcile()

    def _create(self, number: int) -> Agent:
        user = User.objects.create_user(f"owner-{number}@example.com")
        wanted = creation.NewAgent(persona_id=self.persona_id, tier=TIER)
        agent = creation.create(user, creation.checked(user, wanted), actor="year")[0]
        self.users[agent.pk] = user
        return agent

    def live(self, days: int) -> None:
        now = BEGIN
        with time_machine.travel(now, tick=False) as clock:
            self.end = BEGIN + timedelta(days=days)
            while now < self.end:
                now += HOUR
                clock.move_to(now)
                for life in self.lives.values():
                    life.hour_passes()
                self._happen(now)
                self._work(now, clock)

    # Actions of people.

    def _happen(self, now: datetime) -> None:
        for agent_id, life in self.lives.items():
            if life.pod != "deleted":
                self._happen_to(agent_id, life, now, draw=self.chance.random())

    def _happen_to(self, agent_id: str, life: YearLife, now: datetime, *, draw: float) -> None:
        if life.suspended:
            if draw < 0.01:
                self._restore(agent_id, life)
        elif draw < 0.0015:
            self._pay(agent_id, life, now)
        elif draw < 0.0017:
            self._suspend(agent_id, life)
        elif draw < 0.0019:
            self._refund(agent_id, life, now)
        elif draw < 0.0022:
            self._give(agent_id, life, now)

    def _pay(self, agent_id: str, life: YearLife, now: datetime) -> None:
        self.paid += 1
        tier = self.chance.choice(TIERS)
        period = Period.ANNUAL if self.chance.random() < 0.1 else Period.MONTHLY
        usd = prices.price_of(tier_of(tier), period)
        purchase = Purchase(
            provider=Provider.USDC,
            tier=tier,
            period=period,
            price_usd=usd,
            tier_snapshot=prices.snapshot_of(tier, period),
        )
        receipt = Receipt(
            provider=Provider.USDC, external_id=f"order-{self.paid}", agent_id=agent_id, purchase=purchase
        )
        for _ in range(self.chance.randint(1, 3)):  # reported more than once
            payments.apply_payment(receipt, now=now)
        life.pay(receipt.external_id, tier, period, usd)

    def _give(self, agent_id: str, life: YearLife, now: datetime) -> None:
        agent, days = Agent.objects.get(pk=agent_id), self.chance.randint(1, 20)
        tier = life.money.tier if life.money.parts else agent.tier
        corrections.credit(agent, days=days, reason="an outage", actor=OPERATOR, now=now)
        life.give(days, tier, prices.price_of(tier_of(tier), Period.MONTHLY))

    def _refund(self, agent_id: str, life: YearLife, now: datetime) -> None:
        """Refund all payments, or one payment."""
        bought = [part.whose for part in life.money.parts if part.whose]
        if not bought:
            return
        if self.chance.random() < 0.3:
            corrections.refund(Agent.objects.get(pk=agent_id), reason="asked", actor=OPERATOR, now=now)
            life.take_back(None)
        else:
            whose = self.chance.choice(bought)
            row = Payment.objects.get(external_id=whose)
            corrections.refund_payment(row, reason="asked", actor=OPERATOR, now=now)
            life.take_back(whose)

    def _suspend(self, agent_id: str, life: YearLife) -> None:
        suspension.suspend(self.users[agent_id], reason="spam", actor=OPERATOR)
        life.suspended = True

    def _restore(self, agent_id: str, life: YearLife) -> None:
        suspension.restore(self.users[agent_id], actor=OPERATOR)
        life.suspended = False

    def _enforce(self) -> None:
        suspension.enforce()
        self._reconcile()
        for life in self.lives.values():
            life.suspensions_are_looked_at()

    # Actions of workers, unless they are away.

    def _work(self, now: datetime, clock: time_machine.Traveller) -> None:
        if now < self.asleep_until:
            return
        if now < self.end and self.chance.random() < 0.002:
            # At the end of the year everything is looked at.
            self.asleep_until = min(now + HOUR * self.chance.randint(1, 24 * 9), self.end)
            return
        self._enforce()
        for look in range(LOOKS):
            clock.move_to(now + look * LEAP)
            while dunning.step_due(now=now + look * LEAP) == dunning.BATCH:
                continue  # the task asks to run again at once after a full batch
            self._reconcile()
        clock.move_to(now)
        for life in self.lives.values():
            life.look()
        self._enforce()  # if nobody had looked for long, it is known only now which agents may run

    def _reconcile(self) -> None:
        for _ in range(20):
            Agent.objects.filter(reconcile_at__isnull=False).update(reconcile_at=BEGIN)
            if not reconciler.reconcile_due():
                return

    # Results.

    def told(self) -> dict[str, list[tuple[datetime, str]]]:
        """The events of each agent, at the full hour to which they belong."""
        found: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
        for agent_id, kind, body in Event.objects.order_by("created_at").values_list("agent_id", "type", "body"):
            event = json.loads(body)
            at = datetime.fromisoformat(event["createdAt"]).replace(minute=0, second=0, microsecond=0)
            words = f"{kind} {event['data']['daysLeft']}" if kind == "deletion.warning" else kind
            if at > BEGIN:
                found[agent_id].append((at, words))
        return found

    def differences(self, now: datetime) -> list[str]:
        """The differences between model and product."""
        told, found = self.told(), list(invariants.broken(now=now))
        for agent in Agent.objects.filter(pk__in=self.lives):
            life = self.lives[agent.pk]
            if sorted(told[agent.pk]) != sorted(life.told):  # events of the same hour may have any order
                found.append(f"{agent.pk}: told {told[agent.pk]}, the model says {life.told}")
            if life.pod == "deleted":
                continue
            term = agent_terms.term(agent, now=now)
            until = term.paid_till if term.mode == TermMode.PAID else term.stops_at
            if (str(term.mode), until) != (life.mode, life.until):
                found.append(f"{agent.pk}: {term.mode} until {until}, the model says {life.mode} until {life.until}")
        return found
