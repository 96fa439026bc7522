"""Money that goes back: by operators, at Telegram, at Stripe, by banks."""

from __future__ import annotations

from fractions import Fraction

from billing.models import (
    CryptoOrder,
    Payment,
    StarsOrder,
)
from billing.stars import refunds as stars_refunds
from tests.billing.histories.ground import Disputed, Ground
from tests.billing.stripe.conftest import work

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
        """Of coins alone by hand."""
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

    def card_back(self) -> None:
        """At Stripe: all or a part, of what is disputed a part."""
        rows = [row for row in self.paid_rows() if row.provider == "stripe"]
        rows = [row for row in rows if self.income[row.pk].left > 1]
        if not rows:
            return
        row = self.chance.choice(rows)
        known, world = self.income[row.pk], self.doubles.stripe.world
        left, part = known.left, self.chance.randrange(1, known.left)
        disputed = next((one for one in self.disputes.values() if one.payment == row.pk), None)
        cents = part if disputed or self.chance.random() < 0.3 else None
        holder = self.holder(row.pk)
        world.refund(world.charge_of(row.external_id)["id"], cents)
        work()
        if cents is None:
            self._gone(row, holder)
        else:
            known.gone += cents
            self.lessen(row.pk, Fraction(left - cents, left))
        self.say("at Stripe goes back", row.external_id, cents, holder)

    def lessen(self, payment: str, by: Fraction) -> None:
        """What is left of its time is worth less, wherever it is."""
        parts = [part for life in self.lives.values() for part in life.parts]
        parts += [one.taken for one in self.disputes.values() if one.taken]
        for part in parts:
            if part.whose == payment:
                part.usd *= by

    def dispute(self) -> None:
        rows = [row for row in self.undisputed() if not self.income[row.pk].gone]
        if not rows:
            return
        row = self.chance.choice(rows)
        holder = self.holder(row.pk)
        if holder is not None and self.lives[holder].dead:
            return
        world = self.doubles.stripe.world
        made = world.dispute(world.charge_of(row.external_id)["id"])
        work()
        self._cards()
        life = self.lives[holder] if holder else None
        plan = (life.tier, life.period, list(life.by)) if life else ("", "", [])
        self.gone.add(row.pk)
        taken = life.take_back(row.pk) if life else None
        self.disputes[made["id"]] = Disputed(holder or "", row.pk, taken, *plan)
        self.say("disputed", row.external_id, holder)

    def undisputed(self) -> list[Payment]:
        disputed = {one.payment for one in self.disputes.values()}
        return [row for row in self.paid_rows() if row.provider == "stripe" and row.pk not in disputed]

    def decide(self) -> None:
        """The bank's word. It is lost where the agent is gone: then an operator would have to decide."""
        if not self.disputes:
            return
        name = self.chance.choice(sorted(self.disputes))
        one = self.disputes.pop(name)
        word = self.chance.choice(["won", "lost"])
        if word == "won" and one.taken and (self.lives[one.holder].dead or self.lives[one.holder].licence):
            word = "lost"
        self.doubles.stripe.world.decide(name, word)
        work()
        self._cards()
        if word == "lost":
            self.income[one.payment].gone = self.income[one.payment].came
        else:
            self.gone.discard(one.payment)
        if word == "won" and one.taken:
            self.lives[one.holder].add([one.taken], one.tier, one.period, one.by)
        self.say("dispute", word, one.payment, one.holder)
