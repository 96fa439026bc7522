"""What owners buy: with coins, stars, cards and licence keys."""

from __future__ import annotations

from fractions import Fraction

from billing import verification
from billing.models import (
    CryptoOrder,
    StarsOrder,
    StripeOrder,
)
from tests.billing.crypto import looked, pays, scan
from tests.billing.histories.ground import Ground
from tests.billing.histories.model import listed
from tests.billing.stripe.conftest import work


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
        """Who cancels there is charged no more."""
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
        """The card of a renewal that had failed is tried again."""
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

    def key(self) -> None:
        """Gumroad, monthly tiny or small, also beside time of another plan."""
        pk = self.pick()
        life = self.lives[pk]
        tier = self.chance.choice(["tiny", "small"])
        if life.licence or tier not in {"tiny", "small"} or pk in self.cards.values():
            return
        if self.clock.now < life.free_until and life.suspended:
            return
        self.number += 1
        text = f"KEY-{self.number:08d}"
        product = {"tiny": "prod-tiny==", "small": "prod-tiers=="}[tier]
        cents = self.chance.choice([100, 500, 900])
        sold = self.doubles.gumroad.sell(text, product, sold_at=f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}")
        sold.purchase = {"price": cents} | ({"variants": "(Small)"} if tier == "small" else {})
        body = {"agentId": pk, "period": "monthly", "provider": "gumroad", "licenseKey": text}
        answer = self.api().post("/subscriptions", body, format="json")
        assert answer.status_code == 200, answer.content
        life.license(tier, "monthly", self.clock.now)
        self.keys[text] = pk
        self.say("key", pk, tier, text, cents)

    def key_over(self) -> None:
        """Refunded at Gumroad, and seen at once."""
        held = [text for text, pk in self.keys.items() if self.lives[pk].licence and not self.lives[pk].dead]
        if not held:
            return
        text = self.chance.choice(held)
        pk = self.keys.pop(text)
        sold = self.doubles.gumroad.sales[text]
        sold.purchase = {**sold.purchase, "refunded": True}
        self.api().post("/payments/gumroad/callback", {"license_key": text}, format="json")
        verification.verify_due()
        self.lives[pk].unlicense()
        self.say("the key was refunded", pk, text)

    def cancel_key(self) -> None:
        held = [text for text, pk in self.keys.items() if self.lives[pk].licence and not self.lives[pk].dead]
        if not held:
            return
        text = self.chance.choice(held)
        life = self.lives[self.keys.pop(text)]
        assert life.licence
        till = life.licence.till(life.now)
        sold = self.doubles.gumroad.sales[text]
        sold.purchase = {**sold.purchase, "subscription_cancelled_at": f"{till:%Y-%m-%dT%H:%M:%SZ}"}
        self.api().post("/payments/gumroad/callback", {"license_key": text}, format="json")
        verification.verify_due()
        life.licence.ends = till
        self.say("the key will not renew", text, till)
