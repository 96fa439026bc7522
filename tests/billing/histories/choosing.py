"""Owners choose smaller plans for the time after the paid time, and cards are charged for these plans."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from billing.models import CardSubscription, Payment, Subscription
from tests.billing.histories.buying import Buying
from tests.billing.histories.model import MONTHLY, listed
from tests.billing.providers.stripe.shop import work

SIZES = list(MONTHLY)


class Choosing(Buying):
    """`chosen` is by agent. `charged_for` is by card: the plan, period and price of its present charges."""

    def __init__(self, *given: Any) -> None:
        self.chosen: dict[str, str] = {}
        self.charged_for: dict[str, tuple[str, str, Fraction]] = {}
        super().__init__(*given)

    def choose_smaller(self) -> None:
        pk = self.pick()
        life = self.lives[pk]
        row = Subscription.objects.paid().filter(agent=pk).first()
        if row is None or not life.parts:
            return
        tier = self.chance.choice(SIZES[:3])
        answer = self.api().put(f"/subscriptions/{row.pk}/next-plan", {"tier": tier}, format="json")
        if life.licence:
            assert answer.status_code == 409, answer.content
        elif SIZES.index(tier) >= SIZES.index(life.tier):
            assert answer.status_code == 400, answer.content
        else:
            assert answer.status_code == 200, answer.content
            self.chosen[pk] = tier
        self.say("chose", pk, tier, answer.status_code)
        work()

    def keep_plan(self) -> None:
        held = [pk for pk in self.alive() if pk in self.chosen]
        if not held:
            return
        pk = self.chance.choice(held)
        row = Subscription.objects.paid().filter(agent=pk).first()
        if row is None or not self.lives[pk].parts:
            return
        answer = self.api().delete(f"/subscriptions/{row.pk}/next-plan")
        assert answer.status_code == 204, answer.content
        self.chosen.pop(pk)
        self.say("keeps", pk)
        work()

    def _terms(self, name: str) -> tuple[str, str, Fraction]:
        """Plan, period and price of the card's newest paid invoice, found by its amount alone."""
        card = CardSubscription.objects.select_related("order").get(subscription_id=name)
        world, period = self.doubles.stripe.world, card.order.period
        self.charged_for.setdefault(name, (card.order.tier, period, Fraction(card.order.price_usd)))
        total = Fraction(world.objects[world.objects[name]["latest_invoice"]]["total"], 100)
        tier = next(tier for tier in SIZES if listed(tier, period) == total)
        if self.chosen.get(card.agent_id) == tier:
            del self.chosen[card.agent_id]
            self.charged_for[name] = (tier, period, total)
        return tier, period, total

    def _bought(self, pk: str, name: str, tier: str, period: str, usd: Fraction, *, provider: str) -> None:
        row = Payment.objects.get(provider=provider, external_id=name)
        assert (row.unapplied, row.tier) == ("", tier), (row.unapplied, row.tier, tier)
        life = self.lives[pk]
        if not life.licence and (life.tier != tier or not life.parts):
            self.chosen.pop(pk, None)
        super()._bought(pk, name, tier, period, usd, provider=provider)

    def forget_choices(self) -> None:
        """Drop choices that no longer apply: the agent's time is over, or its plan is not larger than the choice."""
        for pk in list(self.chosen):
            life = self.lives[pk]
            over = life.dead or life.licence or (not life.parts and pk not in self.cards.values())
            if over or SIZES.index(self.chosen[pk]) >= SIZES.index(life.tier):
                self.chosen.pop(pk)

    def agree_on_choices(self) -> None:
        """Check that Stripe will charge the price of the chosen plan, or else the same price as before."""
        self.forget_choices()
        if not self.is_active():
            return
        work()
        for name, pk in self.cards.items():
            told = self.doubles.stripe.world.objects[name]
            if told["status"] == "canceled":
                continue
            period = CardSubscription.objects.get(subscription_id=name).order.period
            cents = told["items"]["data"][0]["price"]["unit_amount"]
            chosen = self.chosen.get(pk)
            own = self.charged_for.get(name)
            wanted = listed(chosen, period) if chosen else own[2] if own else None
            if wanted is not None:
                assert cents == wanted * 100, (name, cents, float(wanted), chosen)
