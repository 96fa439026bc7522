"""The Books page: contradictions that the checks find, what waits for an operator, and what providers paid out."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from billing import invariants, reconciled, waiting_money
from billing.models import Books, ChainState
from billing.providers import registry
from config import sql
from config.read_only import WrittenByRules

MOST = 100  # findings per check, and counted rows per list
SECONDS = 5  # database time per check
AT_VISIT = 50_000  # payments: with more, the checks take longer than a page may


@admin.register(Books)
class BooksAdmin(WrittenByRules):
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The checks run at each visit while the ledger is short, and later only if the operator asks.

        `manage.py check_invariants` finishes those that take too long for a page.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = timezone.now()
        context = {
            **self.admin_site.each_context(request),
            "title": "Books",
            "opts": self.opts,
            "looked": invariants.look(now=now, most=MOST, seconds=SECONDS) if _checks(request) else None,
            "most": MOST,
            "waiting": [(kind.title, _list(kind), _counted(kind.rows)) for kind in waiting_money.kinds(now=now)],
            "unseen": registry.unseen(),
            "faults": ChainState.objects.exclude(fault=""),
            "compared": list(reconciled.read(now=now)) if _asks(request) else None,
        }
        return TemplateResponse(request, "admin/billing/books.html", context)


def _checks(request: HttpRequest) -> bool:
    """Whether this visit runs the checks. They read the whole ledger, so its estimated length decides."""
    if request.GET.get("check") == "now":
        return True
    ((rows,),) = sql.rows("SELECT reltuples FROM pg_class WHERE oid = 'billing_payment'::regclass")
    return bool(rows < AT_VISIT)


def _asks(request: HttpRequest) -> bool:
    """Whether this visit asks the providers what they paid out. They are slow, so only if the operator wants it."""
    return request.GET.get("compare") == "now"


def _list(kind: waiting_money.WaitingMoney) -> str:
    return f"{reverse(f'admin:billing_{kind.model}_changelist')}?{kind.query}"


def _counted(rows: QuerySet[Any]) -> str:
    """The number of rows as text. Counting stops after 100, since a larger number tells no more."""
    found = rows.order_by()[: MOST + 1].count()
    return f"more than {MOST}" if found > MOST else str(found)
