"""Refunds by operators and at Telegram."""

from __future__ import annotations

from fractions import Fraction

from billing.models import (
    CryptoOrder,
    Payment,
    StarsOrder,
)
from billing.providers.stars import refunds as stars_refunds
from tests.billing.histories.ground import Ground

LEDGER, TERMS, STARS = "/admin/billing/payment/", "/admin/billing/agentterm/", "/admin/billing/starsorder/"


class GoingBack(Ground):
    def refund_one(self) -> None:
        rows = [row for row in self.paid_rows() if self.income[row.pk].came > self.income[row.pk].gone]
        if not rows:
            return
        row = self.chance.choice(rows[-6:])
        holder = self.holder(row.pk)
        before = Payment.objects.count()
        page = self.act(LEDGER, "refund", row)
        if holder is None:
            by_hand = row.provider in {"usdt", "usdc"}
            assert Payment.objects.count() == before + by_hand, "what is used up: its money is noted where nobody tells"
            if by_hand:
                self.income[row.pk].gone = self.income[row.pk].came
                self.gone.add(row.pk)
            self.say("refund of what is used up", row.external_id)
            return
        assert Payment.objects.count() == before + 1, page
        self._gone(row, holder)
        self.say("refund", holder, row.external_id)

    def refund_all(self) -> None:
        pk = self.pick()
        life = self.lives[pk]
        if life.licence:
            return
        mine = list(dict.fromkeys(part.whose for part in life.parts if part.whose))
        before = Payment.objects.count()
        self.act(TERMS, "refund", self.term(pk))
        assert Payment.objects.count() == before + len(mine)
        for one in mine:
            self._gone(Payment.objects.get(pk=one), pk)
        self.say("refund of all", pk, len(mine))

    def part(self) -> None:
        """An operator refunds a part of a payment; this is possible only for coins."""
        rows = [row for row in self.paid_rows() if row.provider in {"usdt", "usdc"}]
        rows = [row for row in rows if self.income[row.pk].came > self.income[row.pk].gone]
        if not rows:
            return
        row = self.chance.choice(rows)
        known = self.income[row.pk]
        left = known.came - known.gone
        decimals = CryptoOrder.objects.get(pk=row.order_id).decimals
        cents = self.chance.randrange(1, max(2, left * 100 // 10**decimals))
        amount = cents * 10 ** (decimals - 2)
        if amount >= left:
            return
        before = Payment.objects.count()
        page = self.act(LEDGER, "refund_part", row, amount=f"{cents / 100:.2f}")
        assert Payment.objects.count() == before + 1, page[-3000:]
        self.lessen(row.pk, Fraction(left - amount, left))
        known.gone += amount
        self.say("part", row.external_id, cents)

    def star_back(self) -> None:
        rows = [row for row in self.paid_rows() if row.provider == "stars" and not self.income[row.pk].gone]
        if not rows:
            return
        row = self.chance.choice(rows)
        holder = self.holder(row.pk)
        order = StarsOrder.objects.get(charge_id=row.external_id)
        self.act(STARS, "send_back", order)
        stars_refunds.send_due(now=self.clock.now)
        self._gone(row, holder)
        self.say("stars go back", row.external_id, holder)

    def lessen(self, payment: str, by: Fraction) -> None:
        """Reduce the value of what is left of this payment's time, whoever has the time now."""
        parts = [part for life in self.lives.values() for part in life.parts]
        parts += [one.taken for one in [*self.disputes.values(), *self.decided.values()] if one.taken]
        for part in parts:
            if part.whose == payment:
                part.usd *= by
