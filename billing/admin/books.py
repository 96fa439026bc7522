"""The Books page: contradictions that the checks find now, and lists of what waits for an operator."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from billing import decisions, invariants, licence_cards
from billing.models import Books, ChainState, Misplaced, Payment, StrayCharge, StripeEvent, StripeRefund
from billing.providers import registry
from config.read_only import WrittenByRules

MOST = 100  # findings per check, and counted rows per list
SECONDS = 5  # database time per check


@admin.register(Books)
class BooksAdmin(WrittenByRules):
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The checks run at each visit. `manage.py check_invariants` finishes those that take too long for a page."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        now = timezone.now()
        context = {
            **self.admin_site.each_context(request),
            "title": "Books",
            "opts": self.opts,
            "looked": invariants.look(now=now, most=MOST, seconds=SECONDS),
            "most": MOST,
            "waiting": [(name, url, _counted(rows)) for name, url, rows in _waiting(now=now)],
            "unseen": registry.unseen(),
            "faults": ChainState.objects.exclude(fault=""),
        }
        return TemplateResponse(request, "admin/billing/books.html", context)


def _waiting(*, now: datetime) -> list[tuple[str, str, QuerySet[Any]]]:
    """The lists of what waits for an operator: title, address and rows."""
    return [
        ("Deposits that bought nothing", _list("deposit", "open=1"), decisions.undecided()),
        ("Payments that bought nothing", _list("payment", "open=1"), Payment.objects.open()),
        ("Payments above the price", _list("payment", "open=over"), decisions.overpaid()),
        ("Payments that disappeared from the chain", _list("payment", "open=gone"), decisions.vanished()),
        (
            "Charges in stars to be sent back",
            _list("straycharge", "refunded_at__isempty=1"),
            StrayCharge.objects.filter(refunded_at=None),
        ),
        (
            "Cards that are still charged after a cancellation",
            _list("subscription", "card=1"),
            licence_cards.late(now=now),
        ),
        (
            "Stripe events that match nothing here",
            _list("stripeevent", "stray__isempty=0"),
            StripeEvent.objects.exclude(stray=""),
        ),
        (
            "Card refunds that are not done",
            _list("striperefund", "refunded_at__isempty=1"),
            StripeRefund.objects.filter(refunded_at=None),
        ),
        ("Misplaced money", _list("misplaced", "there=1"), Misplaced.objects.filter(amount__gt=0)),
    ]


def _list(model: str, query: str) -> str:
    return f"{reverse(f'admin:billing_{model}_changelist')}?{query}"


def _counted(rows: QuerySet[Any]) -> str:
    """The number of rows as text. Counting stops after 100, since a larger number tells no more."""
    found = rows.order_by()[: MOST + 1].count()
    return f"more than {MOST}" if found > MOST else str(found)
