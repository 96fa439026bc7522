"""/account/agents/{id}: the page of one agent."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from agents.models import Agent, Desired, Status
from agents.watching import explanation
from billing import agent_terms, ledger, licence_cards, reminders, unused_time
from billing.models import CardSubscription, Payment
from billing.providers import registry
from billing.vocabulary import FOREVER, PaymentKind
from catalog.engines import engine_of
from pages.account import account, words
from pages.account.agents import advice, next_plan
from pages.account.agents.base import AgentPagePage
from pages.account.names import plan_name, way_name

EVIDENCE_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentLine:
    payment: Payment
    kind: object
    amount: str
    provider: str
    bought: str
    day: str
    till: str
    invoice: str  # the id of the invoice or credit note, if there is one
    waits: bool  # waits for an operator


class AgentsPage(AgentPagePage):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.shown(self.own_agent(id))

    def shown(self, agent: Agent, *, problem: str = "", status: int = 200) -> HttpResponseBase:
        """`problem` is about the button that was pressed."""
        now = timezone.now()
        here = f"/account/agents/{agent.pk}"
        term = agent_terms.term(agent, now=now)
        payments = ledger.page(agent, after=self.sent.GET.get("payments"))
        told = explanation.of(agent)
        advices = list(advice.each(told, agent))
        context = {
            "line": account.line(agent, term, now=now),
            "agent": agent,
            "problem": problem,
            "engine": engine_of(agent.engine).label,
            "acts": _acts(agent),
            "advice": advices[0],
            "others": advices[1:],
            "buttons": {one.button.act for one in advices if one.button},
            "paid_with": words.paid_with(term),
            "renewal": _renewal(agent),
            "next_plan": next_plan.line(agent, unused_time.paid_by(agent)),
            "since": words.moment(told.since),
            "told": told,
            "evidence": "\n".join(told.evidence[:EVIDENCE_LINES]),
            "open": agent.status == Status.RUNNING and not words.is_stopping(agent),
            "testable": agent.desired != Desired.STOPPED,
            "moving": agent.status == Status.PROVISIONING or words.is_stopping(agent),
            "payments": [payment_line(payment) for payment in payments.payments],
            "older": f"{here}?{urlencode({'payments': payments.cursor})}#payments" if payments.cursor else None,
            "paged": "payments" in self.sent.GET,
            "first": f"{here}#payments",
            "card": CardSubscription.objects.charged(agent).exists(),
        }
        return self.page("agent.html", context, status=status)


def _acts(agent: Agent) -> set[str]:
    """The buttons that make sense in the agent's present state."""
    if agent.status == Status.PROVISIONING:
        return set()
    if agent.desired == Desired.STOPPED:
        return {"resume", "rebuild"} if agent.status != Status.FAILED else {"rebuild"}
    return {"pause", "rebuild"}


def _renewal(agent: Agent) -> dict[str, object] | None:
    """Whether a licence or card renews the agent, and who can stop that."""
    row = unused_time.paid_by(agent)
    renews = row is not None and reminders.renews_itself(row)
    if row is None or not (row.is_licensed or renews):
        return None
    return {
        "provider": registry.name_of(reminders.renewed_by(row)),
        "renews": renews,
        "stopping": row.stop_card_at is not None,
        "elsewhere": licence_cards.where_to_stop(row),
    }


def payment_line(payment: Payment) -> PaymentLine:
    return PaymentLine(
        payment=payment,
        kind=words.KINDS[payment.kind],
        amount=words.amount(payment),
        provider=way_name(payment.provider),
        bought=_bought(payment),
        day=words.day(payment.at),
        till=words.day(payment.paid_till) if payment.paid_till and payment.paid_till < FOREVER else "",
        invoice=payment.invoice.pk if hasattr(payment, "invoice") else "",
        waits=payment.unapplied != "" and payment.kind != PaymentKind.REFUND and not hasattr(payment, "decision"),
    )


def _bought(payment: Payment) -> str:
    if not payment.tier or not payment.period:
        return ""
    return f"{plan_name(payment.tier)}, {words.PERIODS[payment.period]}"
