"""The URLs of billing's API, including `/agents/{id}/term` and those of payment providers."""

from django.urls import path

from billing.providers import registry
from billing.views.callback import CallbackViewSet
from billing.views.cancel import CancelViewSet
from billing.views.invoices import BillingDetailsViewSet, InvoicePdfViewSet, InvoicesViewSet
from billing.views.move import MoveViewSet
from billing.views.next_plan import NextPlanViewSet
from billing.views.payment_providers import PaymentProvidersViewSet
from billing.views.quote import QuoteViewSet
from billing.views.subscriptions import SubscriptionsViewSet
from billing.views.term import TermViewSet

urlpatterns = [
    *(one for part in registry.parts("urls") for one in part.urlpatterns),
    path("invoices", InvoicesViewSet.as_view({"get": "list"})),
    path("invoices/<str:id>", InvoicesViewSet.as_view({"get": "retrieve"})),
    path("invoices/<str:id>/pdf", InvoicePdfViewSet.as_view({"get": "retrieve"})),
    path("billing-details", BillingDetailsViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("payment-providers", PaymentProvidersViewSet.as_view({"get": "retrieve"})),
    path("subscriptions", SubscriptionsViewSet.as_view({"get": "list", "post": "create"})),
    path("subscriptions/quote", QuoteViewSet.as_view({"get": "retrieve"})),
    path("subscriptions/<str:id>/cancel", CancelViewSet.as_view({"post": "create"})),
    path("subscriptions/<str:id>/move", MoveViewSet.as_view({"post": "create"})),
    path(
        "subscriptions/<str:id>/next-plan",
        NextPlanViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
    ),
    path("payments/<str:provider>/callback", CallbackViewSet.as_view({"post": "create"})),
    path("agents/<str:id>/term", TermViewSet.as_view({"get": "retrieve"})),
]
