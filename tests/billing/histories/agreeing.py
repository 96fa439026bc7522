"""Checks after each step of a history, and of the books at its end."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from datetime import datetime
from fractions import Fraction

from django.db.models import QuerySet

from accounts.models import User
from agents.models import Agent, Desired
from billing import agent_terms, invariants
from billing.models import (
    Invoice,
    Payment,
    Subscription,
)
from tests.billing.conftest import NOON
from tests.billing.histories.ground import Ground
from tests.billing.histories.model import Life
from tests.billing.providers.stripe.shop import work

CENT = Fraction(1, 100)
SHOPS = ["gumroad", "lemonsqueezy"]  # these shops sell in their own name
UNITS = {"usd": 100, "XTR": 1, "usdt": 10**6, "usdc": 10**18}
SIGNS = {"refund": 1, "revoke": 1, "came back": -1}


def bought() -> QuerySet[Payment]:
    """The payments that we received ourselves."""
    return Payment.objects.filter(kind__in=["payment", "renewal"]).exclude(provider__in=SHOPS)


class Agreeing(Ground):
    def agree(self) -> None:
        """Check for each agent until which second it is paid, and on which plan."""
        for pk in self.alive():
            agent = Agent.objects.get(pk=pk)
            if agent.desired != Desired.DELETED:
                self._agree(agent, self.lives[pk])

    def _agree(self, agent: Agent, life: Life) -> None:
        mode, till = self._term(agent)
        until = life.until()
        if life.granted:
            assert mode == "internal", (agent.pk, mode)
        elif until is None:
            assert mode in {"trial", "grace"}, f"{agent.pk}: {mode} {till}, the model says nothing is paid; {life}"
        else:
            assert mode == "paid", f"{agent.pk}: {mode}, the model says paid until {until}"
            assert till == until, f"{agent.pk}: paid until {till}, the model says {until}; {life}"
            assert Subscription.objects.paid().get(agent=agent).tier == life.tier

    def _term(self, agent: Agent) -> tuple[str, datetime | None]:
        if not self.is_active():  # a suspended owner may not ask
            found = agent_terms.term(agent, now=self.clock.now)
            return str(found.mode), found.paid_till
        answer = self.api().get(f"/agents/{agent.pk}/term")
        assert answer.status_code == 200, answer.content
        told = answer.json()["term"]
        return told["mode"], datetime.fromisoformat(told["paidTill"]) if told["paidTill"] else None

    def books(self) -> None:
        """The checks at the end of a history."""
        work()
        self._ledger()
        self._invoices()
        self._numbers()
        self._reports()
        self._months()
        broken = invariants.broken(now=self.clock.now)
        assert broken == [], broken

    def _ledger(self) -> None:
        rows = bought()
        assert rows.count() == self.counted
        assert sum(int(row.amount or 0) for row in rows) == sum(one.came for one in self.income.values())
        back: dict[str, int] = defaultdict(int)
        rows = Payment.objects.filter(kind__in=["refund", "revoke", "came back"], amount__isnull=False)
        for row in rows.exclude(provider__in=SHOPS):
            assert row.refund_of_id, row
            back[row.refund_of_id] += int(row.amount or 0) * (-1 if row.kind == "came back" else 1)
        for pk, known in self.income.items():
            assert back.get(pk, 0) == known.gone, (Payment.objects.get(pk=pk), back.get(pk), known)
            waiting = Payment.objects.open().filter(refund_of=pk).values_list("amount", flat=True)
            assert sorted(int(amount or 0) for amount in waiting) == sorted(known.waiting), (pk, waiting, known)

    def _invoices(self) -> None:
        invoices = Invoice.objects.filter(kind="invoice", payment__refund_of=None).select_related("payment")
        assert len(invoices) == self.counted
        for invoice in invoices:
            known = self.income[invoice.payment_id]
            assert invoice.total_usd == invoice.payment.price_usd
            rows = list(Invoice.objects.filter(payment__refund_of=invoice.payment_id))
            signs = [1 if one.kind == "credit_note" else -1 for one in rows]
            total = sum(sign * one.total_usd for sign, one in zip(signs, rows, strict=True))
            tax = sum(sign * one.tax_usd for sign, one in zip(signs, rows, strict=True))
            share = Fraction(known.came - known.worth, known.came)
            assert abs(Fraction(total) - share * Fraction(invoice.total_usd)) <= CENT / 2, (invoice, total, share)
            if share == 1:
                assert (total, tax) == (invoice.total_usd, invoice.tax_usd)

    def _numbers(self) -> None:
        by_series: dict[str, list[int]] = defaultdict(list)
        for number in Invoice.objects.order_by("number").values_list("number", flat=True):
            series, _, last = number.rpartition("-")
            by_series[series].append(int(last))
        for series, found in by_series.items():
            assert found == list(range(1, len(found) + 1)), series

    def _reports(self) -> None:
        prices = sum((Fraction(row.price_usd or 0) for row in bought()), Fraction(0))
        assert self._told("sales", "received_usd")[0] == prices
        told, lines = self._told("deferred-now", "deferred_usd")
        live = set(Subscription.objects.live().values_list("agent_id", flat=True))
        lives = [life for pk, life in self.lives.items() if not life.dead or pk in live]
        left = sum((part.usd for life in lives for part in life.parts if part.whose), Fraction(0))
        assert abs(told - left) <= (lines + 1) * CENT / 2, (float(told), float(left))

    def _months(self) -> None:
        """The sales report equals the ledger by month and currency; the tax report equals the invoices."""
        came: dict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
        back: dict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
        for row in Payment.objects.filter(amount__isnull=False):
            place = (f"{row.at:%Y-%m}", str(row.provider), row.currency)
            units = Fraction(int(row.amount or 0), UNITS[row.currency])
            came[place] += units * (row.kind in {"payment", "renewal"})
            back[place] += units * SIGNS.get(row.kind, 0)
        for line in self._lines("sales"):
            place = (line["month"], line["provider"], line["currency"])
            came[place] -= Fraction(line["received"])
            back[place] -= Fraction(line["returned"])
        assert not any(came.values()), came
        assert not any(back.values()), back
        owed: dict[str, Fraction] = defaultdict(Fraction)
        for invoice in Invoice.objects.all():
            sign = -1 if invoice.kind == "credit_note" else 1
            owed[f"{invoice.created_at:%Y-%m}"] += sign * Fraction(invoice.tax_usd)
        for line in self._lines("taxes"):
            owed[line["month"]] -= Fraction(line["tax_usd"])
        assert not any(owed.values()), owed

    def _told(self, name: str, column: str) -> tuple[Fraction, int]:
        """The sum of a report's column and the number of its lines, without the shops that sell licences."""
        lines = [line for line in self._lines(name) if line["provider"] not in SHOPS]
        return sum((Fraction(line[column]) for line in lines), Fraction(0)), len(lines)

    def _lines(self, name: str) -> list[dict[str, str]]:
        self.console.force_login(User.objects.get(is_superuser=True))
        asked = {"from": f"{NOON:%Y-%m}", "to": f"{self.clock.now:%Y-%m}", "csv": name}
        answer = self.console.get("/admin/billing/reports/", asked)
        return list(csv.DictReader(io.StringIO(answer.content.decode())))
