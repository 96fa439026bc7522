"""Purchases of owners with coins, Stars and cards."""

from __future__ import annotations

from fractions import Fraction

from billing.models import (
    CryptoOrder,
    StarsOrder,
    StripeOrder,
)
from tests.billing.crypto import looked, pays, scan
from tests.billing.histories.ground import Ground
from tests.billing.histories.model import listed
from tests.billing.providers.stripe.shop import work


class Buying(Ground):
    def _coupon(self) -> str:
        return self.chance.choice(["", "", "", "HALF", "NINETY"])

    def coins(self) -> None:
        pk = self.pick()
        tier, period = self.plan(pk)
        asset, code = self.chance.choice(["usdt", "usdc"]), self._coupon()
        chain = self.doubles.coins
        chain.mine(at=self.clock.now)
        looked(self.clock)
        told = self.quote(pk, tier, period, asset, code)
        body = {"agentId": pk, "tier": tier, "period": period, "asset": asset} | ({"coupon": code} if code else {})
        answer = self.api().post("/crypto/orders", body, format="json")
        if answer.status_code != 200:
            assert not isinstance(told, str), (told, answer.content)
            self.say("coins refused", pk, tier, answer.status_code, answer.json()["message"][:80])
            return
        row = CryptoOrder.objects.get(pk=answer.json()["order"]["id"])
        usd = Fraction(row.price_usd)
        off = {"": Fraction(1), "HALF": Fraction(1, 2), "NINETY": Fraction(1, 10)}[code]
        assert usd == listed(tier, period) * off, (usd, code)
        pays(chain.usdt if asset == "usdt" else chain.usdc, row)
        chain.final()
        scan(self.clock)
        self.say("coins", pk, tier, period, asset, code, row.pk)
        self._bought(pk, row.pk, tier, period, usd, provider=asset)
        self.same_as_quoted(pk, told)

    def stars(self) -> None:
        pk = self.pick()
        tier, period = self.plan(pk)
        code = self._coupon()
        told = self.quote(pk, tier, period, "stars", code)
        body = {"agentId": pk, "tier": tier, "period": period} | ({"coupon": code} if code else {})
        answer = self.api().post("/stars/orders", body, format="json")
        if answer.status_code != 200:
            assert not isinstance(told, str), (told, answer.content)
            self.say("stars refused", pk, tier, answer.status_code, answer.json()["message"][:80])
            return
        row = StarsOrder.objects.get(pk=answer.json()["order"]["id"])
        paid = self.doubles.telegram.pay(row.invoice_link)
        assert paid is not None
        self.say("stars", pk, tier, period, code, row.pk)
        self._bought(pk, paid["telegram_payment_charge_id"], tier, period, Fraction(row.price_usd), provider="stars")
        self.same_as_quoted(pk, told)

    def card(self) -> None:
        pk = self.pick()
        tier, period = self.plan(pk)
        told = self.quote(pk, tier, period, "stripe")
        answer = self.api().post("/stripe/orders", {"agentId": pk, "tier": tier, "period": period}, format="json")
        if answer.status_code != 200:
            assert not isinstance(told, str), (told, answer.content)
            self.say("card refused", pk, tier, answer.status_code, answer.json()["message"][:80])
            return
        row = StripeOrder.objects.get(pk=answer.json()["order"]["id"])
        made = self.doubles.stripe.world.pay(row.session_id)
        work()
        for name in [one for one, whose in self.cards.items() if whose == pk]:
            assert self.doubles.stripe.world.objects[name]["status"] == "canceled", "another card for the same agent"
            self.cards.pop(name)
        self.cards[made["id"]] = pk
        self.say("card", pk, tier, period, row.pk)
        self._bought(pk, made["latest_invoice"], tier, period, Fraction(row.price_usd), provider="stripe")
        self.same_as_quoted(pk, told)

    def portal(self) -> None:
        """An owner cancels in Stripe's portal: the card is not charged any more."""
        if not self.cards:
            return
        name = self.chance.choice(sorted(self.cards))
        world = self.doubles.stripe.world
        if world.objects[name]["status"] == "active":
            world.cancel_in_portal(name)
            work()
            world.end(name)
            work()
            self.cards.pop(name)
            self.say("cancelled at Stripe", name)

    def retry(self) -> None:
        """Stripe tries again to charge a card whose renewal failed."""
        world = self.doubles.stripe.world
        for name in list(self.failed):
            if name not in self.cards or world.objects[name]["status"] != "past_due":
                self.failed.pop(name)
        if not self.failed:
            return
        name = self.chance.choice(sorted(self.failed))
        invoice, pk = self.failed.pop(name), self.cards[name]
        world.settle(invoice)
        work()
        self.say("a later try succeeded", pk, invoice)
        self._bought(pk, invoice, *self._terms(name), provider="stripe")
