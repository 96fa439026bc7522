"""Steps for an agent's term. Each has its own page and needs a reason, which goes into the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.utils import timezone

from agents.models import Agent
from billing import agent_terms, corrections, key_moves, verification
from billing.models import AgentTerm, Payment, Subscription
from billing.providers import registry
from billing.term import Term
from config import clock
from config.admin_steps import Given, Logged, ReasonForm, Step


class DaysForm(ReasonForm):
    """The fields are checked by the rules, whose error messages are shown."""

    field_order = ("days", "agent", "reason")

    days = forms.CharField(max_length=5, label="Days")


class AgentForm(ReasonForm):
    field_order = ("agent", "reason")

    agent = forms.CharField(max_length=40, label="The agent that gets it")


class MoneyStep(Step[Any]):
    permission = "correct"
    rule: ClassVar[Callable[..., object]]  # what is done with each row, unless the step has a `take` of its own

    def take(self, row: Any, *, given: Given) -> Logged | None:
        self.rule(row, reason=given.reason, actor=given.actor, now=given.now)
        return None

    def now(self) -> datetime:
        return clock.now()


class TermStep(MoneyStep):
    """A step for an agent's term. An agent whose term or purchases changed after the page was shown is left alone.

    So nobody refunds a payment that came in since then without seeing it.
    """

    model = AgentTerm
    related = ("user",)
    material = ("agent", "owner", "tier", "status", "term", "bought")

    def held(self, row_id: str) -> Any:
        """Lock the agent's row first, as the rules of billing do."""
        if self.in_transaction:
            Agent.objects.locked().filter(pk=row_id).first()
        return super().held(row_id)

    def cells(self, rows: list[Any]) -> list[dict[str, str]]:
        terms = agent_terms.terms(rows, now=timezone.now())
        bought: dict[str, list[str]] = defaultdict(list)
        live = Subscription.objects.live().filter(agent__in=list(terms)).defer("license_key")
        for one in live.order_by("pk"):
            bought[one.agent_id].append(_bought(one))
        return [self._cells(row, terms[row.pk], bought[row.pk]) for row in rows]

    def _cells(self, row: Any, term: Term, bought: list[str]) -> dict[str, str]:
        return {
            "agent": row.pk,
            "name": row.name,
            "owner": str(row.user),
            "tier": row.tier,
            "status": row.status,
            "term": term_line(term),
            "bought": "; ".join(bought) or "nothing",
        }


class GrantTerms(TermStep):
    name, title, button, done = "grant", "Grant paid time without end (internal)", "Grant", "Granted"
    bulk = True
    warnings = ("The agent may run without an end. Subscriptions that it has go on by themselves.",)
    rule = staticmethod(corrections.grant)


class RevokeTerms(TermStep):
    name, title, button, done = "revoke", "Revoke the grant", "Revoke", "Grant revoked"
    warnings = ("Only paid time counts again. If there is none, grace begins now, and then the agent stops.",)
    rule = staticmethod(corrections.revoke)


class CreditTerms(TermStep):
    name, title, button, done = "credit", "Credit days", "Credit", "Credited"
    form = DaysForm
    bulk = True
    warnings = ("Each agent gets this number of days of its plan, after its paid time: 1 to 3,660.",)

    def take(self, row: Any, *, given: Given) -> Logged | None:
        days = number(given.fields["days"])
        corrections.credit(row, days=days, reason=given.reason, actor=given.actor, now=given.now, once=given.once)
        return [(row, f"{self.done}: {days} days: {given.reason}")]


class RefundTerms(TermStep):
    name, title, button, done = "refund", "Refund: end all bought time now", "Refund", "Refunded"
    counted = True
    warnings = (
        "All time that was bought and is not used ends now. Days that were given stay; if there are none, grace begins,"
        " and then the agent stops. To refund only one of several payments, use the ledger. This cannot be undone.",
        "Stars, and what a card paid through Stripe, are sent back automatically; that card is not charged any more."
        " Refund cards at Gumroad or Lemon Squeezy, and send stablecoins from your wallet.",
    )

    def means(self, rows: list[Any]) -> list[str]:
        """Warn about charges that are sent back automatically, since that money leaves at once."""
        back = {row.pk: _sent_by_us(corrections.refundable(row, now=timezone.now())) for row in rows}
        return [
            f"{agent_id}: these charges are sent back: {', '.join(names)}" for agent_id, names in back.items() if names
        ]

    rule = staticmethod(corrections.refund)


class VerifyTerms(TermStep):
    name, title, button, done = "verify", "Verify the licence now", "Verify", "The provider is asked"
    warnings = ("If the provider says that the licence is no longer paid, it ends, and grace begins.",)
    rule = staticmethod(verification.ask_about)


class MoveLicences(TermStep):
    name, title, button = "move", "Move the licence to another agent", "Move"
    done = "Licence moved"
    form = AgentForm
    alone = True
    in_transaction = False  # the provider is asked during the step
    warnings = (
        "The licence pays for the other agent from now on. For this agent grace begins, and then it stops.",
        "Time that was bought in other ways stays with this agent.",
    )

    def take(self, row: Any, *, given: Given) -> Logged | None:
        to = given.fields["agent"]
        key_moves.move(row, to=to, reason=given.reason, actor=given.actor, now=given.now)
        return [(row, f"{self.done} to {to}: {given.reason}")]


def _sent_by_us(rows: list[Payment]) -> list[str]:
    return [row.external_id for row in rows if registry.sends_back(row.provider)]


def term_line(term: Term) -> str:
    dates = {"paid until": term.paid_till, "stops": term.stops_at, "deleted": term.deletes_at}
    known = [f"{name} {moment:%Y-%m-%d %H:%M} UTC" for name, moment in dates.items() if moment]
    return ", ".join([str(term.mode), *known])


def number(typed: str) -> int:
    """The number that was typed, or 0 if it is not a number. The rules refuse 0."""
    return int(typed) if typed.isascii() and typed.isdigit() else 0


def _bought(row: Subscription) -> str:
    until = f"until {row.current_period_end:%Y-%m-%d %H:%M} UTC"
    return f"{row.pk} ({row.provider}, {row.tier}, {row.period}, {row.price_usd} USD, {until})"
