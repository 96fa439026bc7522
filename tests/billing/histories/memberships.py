"""Memberships at Gumroad: their keys, and what the ledger must say that Gumroad charged and gave back."""

from __future__ import annotations

from datetime import timedelta

from billing import verification
from billing.models import Payment, Subscription
from tests.billing.histories.buying import Buying
from tests.billing.histories.model import Membership, month_after

PRODUCTS = {"tiny": "prod-tiny==", "small": "prod-tiers=="}


class Memberships(Buying):
    def key(self) -> None:
        """Monthly tiny or small, also beside time of another plan."""
        pk, tier = self.pick(), self.chance.choice(["tiny", "small"])
        if not self._takes_key(pk):
            return
        self.number += 1
        text = f"KEY-{self.number:08d}"
        cents = self.chance.choice([100, 500, 900])
        sold = self.doubles.gumroad.sell(text, PRODUCTS[tier], sold_at=f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}")
        sold.purchase = {"price": cents} | ({"variants": "(Small)"} if tier == "small" else {})
        self.memberships[text] = Membership(pk, tier, cents, self.clock.now)
        self._enter(text)

    def key_again(self) -> None:
        """The key of an agent that is deleted, for another one."""
        free = [text for text, one in self.memberships.items() if self.lives[one.agent].dead and one.over is None]
        pk = self.pick()
        if free and self._takes_key(pk):
            text = self.chance.choice(free)
            self.memberships[text].agent = pk
            self._enter(text)

    def _takes_key(self, pk: str) -> bool:
        life = self.lives[pk]
        if life.licence or pk in self.cards.values():
            return False
        return not (self.clock.now < life.free_until and life.suspended)

    def _enter(self, text: str) -> None:
        one = self.memberships[text]
        body = {"agentId": one.agent, "period": "monthly", "provider": "gumroad", "licenseKey": text}
        answer = self.api().post("/subscriptions", body, format="json")
        assert answer.status_code == 200, answer.content
        self.lives[one.agent].license(one.tier, "monthly", one.sold)
        self.say("key", one.agent, one.tier, text, one.cents)

    def key_over(self) -> None:
        """Refunded at Gumroad, also after its agent was deleted; seen at once."""
        if text := self._one_that_renews():
            one = self.memberships[text]
            one.over, one.refunded = self.clock.now, True
            self._changes(text, refunded=True)
            if not self.lives[one.agent].dead:
                self.lives[one.agent].unlicense()
            self.say("the key was refunded", one.agent, text)

    def cancel_key(self) -> None:
        """Gumroad counts the end from its last charge, which may have been late."""
        if text := self._one_that_renews():
            one = self.memberships[text]
            one.over = self.clock.now
            late = self.chance.choice([timedelta(0), timedelta(hours=3), timedelta(days=4)])
            till = month_after(one.sold, one.charges(self.clock.now), one.sold.day) + late
            self._changes(text, subscription_cancelled_at=f"{till:%Y-%m-%dT%H:%M:%SZ}")
            life = self.lives[one.agent]
            if not life.dead:
                assert life.licence
                life.licence.ends = till
            self.say("the key will not renew", text, till)

    def _one_that_renews(self) -> str:
        """What it was charged so far has been seen: Gumroad tells of no charge afterwards."""
        self._look()
        return self.chance.choice(["", *(text for text, one in self.memberships.items() if one.over is None)])

    def _changes(self, text: str, **changes: object) -> None:
        sold = self.doubles.gumroad.sales[text]
        sold.purchase = {**sold.purchase, **changes}
        self.api().post("/payments/gumroad/callback", {"license_key": text}, format="json")
        self._look()

    def _look(self) -> None:
        for row in Subscription.objects.filter(provider="gumroad"):
            verification.hasten(row, now=self.clock.now)
        while verification.verify_due():
            pass

    def agree_on_memberships(self) -> None:
        """Each charge and what went back, once, whatever became of the agents."""
        self._look()
        for number, (text, one) in enumerate(self.memberships.items(), 1):
            rows = Payment.objects.filter(provider="gumroad", external_id__startswith=f"membership-{number}:")
            came = [int(row.amount or 0) for row in rows if row.kind in {"payment", "renewal"}]
            gone = [int(row.amount) for row in rows if row.kind in {"refund", "revoke"} and row.amount]
            assert came == [one.cents] * one.charges(self.clock.now), (text, one, list(rows))
            assert gone == [one.cents] * one.refunded, (text, one, list(rows))
