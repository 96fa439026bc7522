"""Actions of operators and owners that move no money."""

from __future__ import annotations

from agents import suspension
from agents.models import Agent
from billing import dunning, verification
from billing.models import (
    Subscription,
)
from tests.agents.conftest import settle as rest
from tests.billing.histories.ground import DAY, Ground
from tests.billing.providers.stripe.shop import work

TERMS = "/admin/billing/agentterm/"


class ByHand(Ground):
    def credit(self) -> None:
        pk, days = self.pick(), self.chance.choice([1, 3, 10, 29, 31])
        life = self.lives[pk]
        if not life.parts and not life.licence:
            life.tier = Agent.objects.get(pk=pk).tier
        self.act(TERMS, "credit", self.term(pk), days=str(days))
        life.give(days)
        self.say("credit", pk, days)

    def suspend(self) -> None:
        on = self.is_active()
        if on:
            suspension.suspend(self.owner, reason="spam", actor="operator:usr_0")
        else:
            suspension.restore(self.owner, actor="operator:usr_0")
        self.owner.refresh_from_db()
        for life in self.lives.values():
            life.suspended = on
        self.say("suspended" if on else "restored")

    def grant(self) -> None:
        pk = self.pick()
        life = self.lives[pk]
        self.act(TERMS, "revoke" if life.granted else "grant", self.term(pk))
        if life.granted:
            life.lapsed = self.clock.now
        life.granted = not life.granted
        self.say("grant" if life.granted else "grant revoked", pk)

    def delete(self) -> None:
        pk = self.pick()
        life = self.lives[pk]
        answer = self.api().delete(f"/agents/{pk}")
        assert answer.status_code in {200, 204}, answer.content
        agent = Agent.objects.get(pk=pk)
        dunning.step_due(now=self.clock.now)
        rest(agent)
        work()
        verification.verify_due()
        dunning.step_due(now=self.clock.now)
        if life.licence:
            life.unlicense()
        life.dead, life.granted = True, False
        self.died[pk] = self.clock.now
        self._cards()
        for name in [one for one, whose in self.cards.items() if whose == pk]:
            assert self.doubles.stripe.world.objects[name]["status"] == "canceled"
        row = Subscription.objects.filter(agent=pk, status="canceled").first()
        assert (row is not None) == bool(life.parts), (row, life.parts)
        self.say("deleted", pk, life.total())
        if not self.alive():
            self._new()

    def move(self) -> None:
        rows = list(
            Subscription.objects.filter(
                agent__in=[pk for pk, life in self.lives.items() if life.dead], status="canceled"
            )
        )
        if not rows:
            return
        row, to = self.chance.choice(rows), self.pick()
        answer = self.api().post(f"/subscriptions/{row.pk}/move", {"agentId": to}, format="json")
        giver, taker = self.lives[row.agent_id], self.lives[to]
        if answer.status_code != 200:
            self.say("not moved", row.pk, answer.status_code, answer.json()["message"][:90])
            assert answer.status_code == 409
            assert row.parked_at is not None
            assert self.clock.now >= row.parked_at + 90 * DAY, answer.content
            giver.parts = []
            return
        taker.add(giver.parts, giver.tier, giver.period, giver.by)
        giver.parts = []
        taker.terms |= giver.terms
        self.say("moved", row.agent_id, to)
