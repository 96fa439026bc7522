"""Card payments that go back: refunds at Stripe, refunds that fail, and disputes, which banks may decide again.

A payment's money that we still have consists of two parts: the part that is owed because its refund failed, and the
rest, which is the value of the paid time.
"""

from __future__ import annotations

from fractions import Fraction

from billing.models import Payment
from tests.billing.histories.going_back import GoingBack
from tests.billing.histories.ground import Disputed
from tests.billing.providers.stripe.shop import work


class Banks(GoingBack):
    def card_back(self) -> None:
        """Refund a payment at Stripe: all of it or a part; of a disputed payment only a part."""
        if row := self._one_by_card():
            cents = self._cents(row)
            self._refund(row, cents)
            work()
            self._sent(row, self.income[row.pk].left if cents is None else cents)
            self.say("at Stripe goes back", row.external_id, cents)

    def fail_back(self) -> None:
        """A refund fails, before or after a worker has seen it: the money is owed, and an operator decides."""
        row = self._one_by_card()
        if row is None:
            return
        known, cents = self.income[row.pk], self._cents(row)
        if cents is None and known.owed:
            return
        sent = known.left if cents is None else cents
        made = self._refund(row, cents)
        if looked := self.chance.random() < 0.5:
            work()
        self.doubles.stripe.world.fail_refund(made)
        work()
        self._cards()
        if sent not in known.waiting:
            self._off(row, sent)
            known.owed += sent
            known.waiting.append(sent)
            self._mark(row.pk)
        self.say("a refund failed", row.external_id, sent, looked)

    def _one_by_card(self) -> Payment | None:
        rows = [row for row in self.paid_rows() if row.provider == "stripe" and self.income[row.pk].worth > 1]
        return self.chance.choice(rows) if rows else None

    def _cents(self, row: Payment) -> int | None:
        known = self.income[row.pk]
        if known.waiting and self.chance.random() < 0.5:
            return known.waiting[0]
        disputed = any(one.payment == row.pk for one in self.disputes.values())
        part = self.chance.randrange(1, known.worth)
        return part if disputed or self.chance.random() < 0.5 else None

    def _refund(self, row: Payment, cents: int | None) -> str:
        """Refund at the double. The double does not know about disputed money, so a full refund names the amount."""
        world, known = self.doubles.stripe.world, self.income[row.pk]
        return str(world.refund(world.charge_of(row.external_id)["id"], known.left if cents is None else cents)["id"])

    def _sent(self, row: Payment, cents: int) -> None:
        known = self.income[row.pk]
        if cents in known.waiting:  # a refund of this amount had failed before
            known.waiting.remove(cents)
            known.owed -= cents
            known.gone += cents
        else:
            self._off(row, cents)
            known.gone += cents
        if not known.left:
            known.waiting = []
        self._mark(row.pk)
        self._cards()

    def _off(self, row: Payment, cents: int) -> None:
        """The value of the payment's time falls by this amount. When nothing is left, the time ends."""
        worth, holder = self.income[row.pk].worth, self.holder(row.pk)
        if cents < worth:
            self.lessen(row.pk, Fraction(worth - cents, worth))
            return
        self.gone.add(row.pk)
        if holder:
            self.lives[holder].take_back(row.pk)

    def _mark(self, payment: str) -> None:
        """Note whether the payment still counts for the plans that it brought."""
        disputed = [*self.disputes.values(), *self.decided.values()]
        held = any(one.held for one in disputed if one.payment == payment)
        (self.gone.add if held or not self.income[payment].worth else self.gone.discard)(payment)

    def dispute(self) -> None:
        disputed = {one.payment for one in self.disputes.values()}
        rows = [row for row in self.paid_rows() if row.provider == "stripe" and row.pk not in disputed]
        rows = [row for row in rows if self.income[row.pk].worth]
        if not rows:
            return
        row, world = self.chance.choice(rows), self.doubles.stripe.world
        came = self.income[row.pk].came
        cents = self.chance.choice([came, came, self.chance.randrange(1, came)])
        made = world.dispute(world.charge_of(row.external_id)["id"], cents=cents)
        work()
        self._cards()
        self.disputes[made["id"]] = one = Disputed(row.pk, cents)
        self._hold(one)
        self.say("disputed", row.external_id, cents, one.holder)

    def _hold(self, one: Disputed) -> None:
        """If the whole value of the payment's time is disputed, take its time away until the bank decides."""
        if one.cents < self.income[one.payment].worth:
            return
        holder = self.holder(one.payment)
        one.held = True
        self.gone.add(one.payment)
        if holder:
            life = self.lives[holder]
            one.holder, one.tier, one.period, one.by = holder, life.tier, life.period, list(life.by)
            one.taken = life.take_back(one.payment)

    def decide(self) -> None:
        if not self.disputes:
            return
        name, word = self.chance.choice(sorted(self.disputes)), self.chance.choice(["won", "lost"])
        self.decided[name] = one = self.disputes.pop(name)
        self.doubles.stripe.world.decide(name, word)
        work()
        self._cards()
        (self._won if word == "won" else self._lost)(one)
        self._mark(one.payment)
        self.say("dispute", word, one.payment, one.holder)

    def _lost(self, one: Disputed) -> None:
        known = self.income[one.payment]
        if not one.held:
            self._hold(one)
        one.lost = min(one.cents, known.left)
        if one.lost < known.worth:
            self.lessen(one.payment, Fraction(known.worth - one.lost, known.worth))
        known.gone += one.lost
        if not known.left:
            known.waiting = []

    def _won(self, one: Disputed) -> None:
        taken, one.taken, one.held = one.taken, None, False
        if taken and self.income[one.payment].worth and not self.lives[one.holder].dead:
            self.lives[one.holder].add([taken], one.tier, one.period, one.by)

    def appeal(self) -> None:
        """The bank looks again at a dispute that it decided for or against the card's owner."""
        disputed = [one.payment for one in [*self.disputes.values(), *self.decided.values()]]
        names = [name for name, one in self.decided.items() if disputed.count(one.payment) == 1]
        if not names:
            return
        name, world = self.chance.choice(sorted(names)), self.doubles.stripe.world
        one = self.decided.pop(name)
        world.decide(name, "appeal_under_review")
        work()
        self._cards()
        if one.lost and self.chance.random() < 0.5:
            world.decide(name, "won")
            work()
            self._given_up(one)
            self.decided[name] = one
        elif one.lost:
            world.decide(name, "lost")
            work()
            self.decided[name] = one
        else:
            self._hold(one)
            self.disputes[name] = one
        self._mark(one.payment)
        self.say("appeal", one.payment, one.lost, one.held)

    def _given_up(self, one: Disputed) -> None:
        """An appeal is won: the money counts again. If its time ended for another reason, the money is owed."""
        known = self.income[one.payment]
        before, back, one.lost = known.worth, one.lost, 0
        known.gone -= back
        if not before and not one.held:
            known.owed += back
            known.waiting.append(back)
        elif before:
            self.lessen(one.payment, Fraction(known.worth, before))
        if one.held:
            self._won(one)
