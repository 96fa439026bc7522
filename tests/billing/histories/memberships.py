"""Memberships at Gumroad and Lemon Squeezy: their keys, and the charges and refunds that the ledger must have."""

from __future__ import annotations

from rest_framework.test import APIClient

from billing import verification
from billing.models import Payment, Subscription
from tests.billing.histories.buying import Buying
from tests.billing.histories.ground import DAY
from tests.billing.histories.model import Membership, month_after
from tests.billing.histories.sellers import Gumroads, Lemons, Seller


class Memberships(Buying):
    def sellers(self) -> dict[str, Seller]:
        if not self.shops:
            found: list[Seller] = [Gumroads(self.doubles.gumroad, self.clock), Lemons(self.doubles.lemon, self.clock)]
            self.shops = {one.name: one for one in found}
        return self.shops

    def key(self) -> None:
        """Enter a monthly key for tiny or small, also beside time of another plan."""
        pk, tier = self.pick(), self.chance.choice(["tiny", "small"])
        if not self._takes_key(pk):
            return
        self.number += 1
        text, seller = f"KEY-{self.number:08d}", self.chance.choice(["gumroad", "lemonsqueezy"])
        cents = self.chance.choice([100, 500, 900])
        name = self.sellers()[seller].sell(text, tier, cents)
        self.memberships[text] = Membership(pk, tier, cents, self.clock.now, seller, name)
        self._enter(text)

    def key_again(self) -> None:
        """Enter the key of a deleted agent for another agent."""
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
        body = {"agentId": one.agent, "period": "monthly", "provider": one.seller, "licenseKey": text}
        answer = self.api().post("/subscriptions", body, format="json")
        assert answer.status_code == 200, answer.content
        self.lives[one.agent].license(one.tier, "monthly", one.sold)
        self.say("key", one.seller, one.agent, one.tier, text, one.cents)

    def key_over(self) -> None:
        """The seller refunds the key's payment, also after the agent's deletion; workers see this at once.

        Gumroad reports only the refund of the first payment. After the first month that payment is used up, and the
        membership goes on.
        """
        if (text := self._one_that_renews()) and not self.memberships[text].refunded:
            one = self.memberships[text]
            is_used_up = one.seller == "gumroad" and one.charges(self.clock.now) > 1
            one.over, one.refunded = None if is_used_up else self.clock.now, True
            self.sellers()[one.seller].refund(text, ends=not is_used_up)
            self._tell(text)
            if not is_used_up and not self.lives[one.agent].dead:
                self.lives[one.agent].unlicense()
            self.say("the key was refunded", one.agent, text, is_used_up)

    def cancel_key(self) -> None:
        """The buyer cancels: the key lasts to the end of its month, or a little longer."""
        if text := self._one_that_renews():
            one = self.memberships[text]
            one.over, seller = self.clock.now, self.sellers()[one.seller]
            till = month_after(one.sold, one.charges(self.clock.now), one.sold.day) + self.chance.choice(seller.late)
            seller.cancel(text, till=till)
            self._tell(text)
            life = self.lives[one.agent]
            if not life.dead:
                assert life.licence
                life.licence.ends = till
            self.say("the key will not renew", text, till)

    def outage(self) -> None:
        """No worker runs for weeks. Charges of that time are seen afterwards, if the seller reports them."""
        if self.cards or any(one.seller == "gumroad" and one.over is None for one in self.memberships.values()):
            return
        to = self.clock.now + self.chance.randrange(30, 80) * DAY
        for pk, life in self.lives.items():
            if life.dead and life.parts and to >= self.died[pk] + 90 * DAY:
                life.parts = []
        self.clock.at(to)
        for life in self.lives.values():
            life.advance(to)
        self._look()
        self._tick()
        self.say("an outage")

    def _one_that_renews(self) -> str:
        """A key that renews, or "". Its charges so far have been seen: Gumroad does not report them afterwards."""
        self._look()
        return self.chance.choice(["", *(text for text, one in self.memberships.items() if one.over is None)])

    def _tell(self, text: str) -> None:
        if self.memberships[text].seller == "gumroad":
            APIClient().post("/payments/gumroad/callback", {"license_key": text}, format="json")
        self._look()

    def _look(self) -> None:
        for row in Subscription.objects.filter(provider__in=self.sellers()):
            verification.hasten(row, now=self.clock.now)
        while verification.verify_due():
            pass

    def agree_on_memberships(self) -> None:
        """Check that each charge and each refund is in the ledger once, whatever happened to the agents."""
        self._look()
        for text, one in self.memberships.items():
            rows = Payment.objects.filter(provider=one.seller, external_id__startswith=f"{one.name}:")
            came = [int(row.amount or 0) for row in rows if row.kind in {"payment", "renewal"}]
            gone = [int(row.amount) for row in rows if row.kind in {"refund", "revoke"} and row.amount]
            assert came == [one.cents] * one.charges(self.clock.now), (text, one, list(rows))
            assert gone == [one.cents] * one.refunded, (text, one, list(rows))
