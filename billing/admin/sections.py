"""Money on the page of an agent and of a person: the term, the newest rows of the ledger, and the steps for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import Truncator

from accounts.models import User
from agents.admin.accounts import AccountAdmin
from agents.admin.agents import AgentAdmin
from agents.models import Agent, Desired
from billing import agent_terms, corrections
from billing.admin.steps import CreditTerms, GrantTerms, RefundTerms, RevokeTerms, term_line
from billing.models import AgentTerm, Order, Payment, Subscription
from billing.vocabulary import OrderStatus, Provider
from config.admin_sections import ROWS, Cell, PageSection, RepairButton, everything, page_of, table

HEAD = ("When (UTC)", "Kind", "Provider", "Price, USD", "Amount", "Bought nothing, because", "Who", "Reason")
DELETED = "It is deleted."
LONGEST = 100


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _line(row: Payment) -> Iterable[Cell | str]:
    return (
        _moment(row.at),
        Cell(row.get_kind_display(), page_of("billing_payment", row.pk)),
        row.provider,
        "-" if row.price_usd is None else str(row.price_usd),
        "-" if row.amount is None else f"{row.amount} {row.currency}",
        row.unapplied or "-",
        row.actor,
        Truncator(row.reason).chars(LONGEST) or "-",
    )


def of_agent(agent: Agent, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("billing.view_payment"):
        return None
    links = (
        Cell("Term and subscriptions", page_of("billing_agentterm", agent.pk)),
        Cell("All payments", everything("billing_payment", agent=agent.pk)),
    )
    rows = Payment.objects.filter(agent=agent)[:ROWS]
    term = agent_terms.term(agent, now=timezone.now())
    return table("money", "Money", HEAD, map(_line, rows), sentence=f"Term: {term_line(term)}.", links=links)


def of_person(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("billing.view_payment"):
        return None
    links = (
        Cell("All payments, credits and refunds", everything("billing_payment", user=user.pk)),
        Cell("Invoices", everything("billing_invoice", user=user.pk)),
        Cell("Subscriptions", everything("billing_subscription", user=user.pk)),
        Cell("Orders", everything("billing_order", user=user.pk)),
    )
    rows = Payment.objects.filter(user=user)[:ROWS]
    return table("money", "Money", HEAD, map(_line, rows), sentence=_open(user), links=links)


def _open(user: User) -> str:
    """What waits for an operator or for the person, at most ROWS of each."""
    waiting = len(Payment.objects.open().filter(user=user).order_by()[:ROWS].values_list("pk"))
    orders = len(Order.objects.filter(user=user, status=OrderStatus.PENDING).order_by()[:ROWS].values_list("pk"))
    return f"Open: {_count(waiting)} payments that bought nothing, {_count(orders)} orders that are not paid."


def _count(found: int) -> str:
    return f"{ROWS} or more" if found == ROWS else str(found)


def _granted(agent: Agent) -> bool:
    return Subscription.objects.live().filter(agent=agent, provider=Provider.INTERNAL).exists()


def _extend(agent: Agent) -> str:
    return DELETED if agent.desired == Desired.DELETED else ""


def _grant(agent: Agent) -> str:
    if agent.desired == Desired.DELETED:
        return DELETED
    return "It has a grant already." if _granted(agent) else ""


def _revoke(agent: Agent) -> str:
    return "" if _granted(agent) else "It has no grant."


def _refund(agent: Agent) -> str:
    return "" if corrections.refundable(agent, now=timezone.now()) else "No bought time is left."


AgentAdmin.sections.append(of_agent)
AgentAdmin.repairs.extend(
    [
        RepairButton(
            step=CreditTerms(), model=AgentTerm, label="Extend", about="Unpaid days of its plan.", why_not=_extend
        ),
        RepairButton(step=GrantTerms(), model=AgentTerm, about="Paid time without an end.", why_not=_grant),
        RepairButton(step=RevokeTerms(), model=AgentTerm, about="Its grant ends.", why_not=_revoke),
        RepairButton(step=RefundTerms(), model=AgentTerm, about="All bought time ends.", why_not=_refund),
    ]
)
AccountAdmin.sections.insert(1, of_person)
