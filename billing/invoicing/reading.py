"""An account's invoices."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import User
from agents.models import Agent
from billing.models import Invoice
from config import paging
from config.errors import NotFound
from config.ids import is_id
from config.paging import MAX_PAGE, RowPage


class NoSuchInvoice(NotFound):
    message = "no such invoice"


def of(user: User) -> QuerySet[Invoice]:
    return Invoice.objects.filter(user=user)


def page(
    user: User, *, path: str, agent: Agent | None = None, limit: int = MAX_PAGE, cursor: str | None = None
) -> RowPage[Invoice]:
    """One page of the account's invoices, newest first. Raises UnknownCursor."""
    rows = of(user) if agent is None else of(user).filter(agent=agent)
    narrowed = {"agentId": agent.pk if agent else None}
    return paging.page(rows, path=path, ids="inv", narrowed=narrowed, limit=limit, cursor=cursor)


def own(user: User, invoice_id: str) -> Invoice:
    """The caller's invoice with this id. Raises NoSuchInvoice for a malformed id and for another account's too."""
    found = of(user).select_related("corrects").filter(pk=invoice_id).first() if is_id("inv", invoice_id) else None
    if found is None:
        raise NoSuchInvoice
    return found
