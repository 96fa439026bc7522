"""/account/payments: the account's payments, with a receipt for each."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request

from accounts.authentication import caller
from billing import ledger
from billing.invoicing import pdf
from billing.ledger import NoSuchPayment
from billing.models import Payment
from pages.account.agents import agents
from pages.account.base import AccountPageViewSet

PATH = "/account/payments"


class PaymentsPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        page = ledger.of(caller(request), after=self.sent.GET.get("payments"))
        context = {
            "lines": [_told(payment) for payment in page.payments],
            "older": f"{PATH}?{urlencode({'payments': page.cursor})}" if page.cursor else None,
            "paged": "payments" in self.sent.GET,
            "first": PATH,
        }
        return self.page("payments.html", context)


class ReceiptPage(AccountPageViewSet):
    shown_in_look = True

    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        return self.page("receipt.html", _told(ledger.own(caller(request), id)))


class ReceiptFilePage(AccountPageViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        payment = ledger.own(caller(request), id)
        if not ledger.has_receipt(payment):
            raise NoSuchPayment
        headers = {
            "Content-Disposition": f'attachment; filename="receipt-{payment.at:%Y-%m-%d}-{payment.pk[-6:]}.pdf"',
            "Cache-Control": "private, no-store",
        }
        return HttpResponse(pdf.receipt(payment), content_type="application/pdf", headers=headers)


def _told(payment: Payment) -> dict[str, Any]:
    return {
        "one": agents.payment_line(payment),
        "payment": payment,
        "agent": payment.agent.name or payment.agent_id,
        "invoice": getattr(payment, "invoice", None),
        "receipt": ledger.has_receipt(payment),
    }
