"""The URLs of billing's API, including `/agents/{id}/term`."""

from __future__ import annotations

from django.urls import path

from billing.providers.crypto.views import CryptoOrdersViewSet, CryptoViewSet
from billing.providers.stars.views import StarsCallbackViewSet, StarsOrdersViewSet, StarsViewSet
from billing.providers.stripe.views import StripeCallbackViewSet, StripeOrdersViewSet, StripePortalViewSet
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
    path("crypto", CryptoViewSet.as_view({"get": "retrieve"})),
    path("crypto/orders", CryptoOrdersViewSet.as_view({"get": "list", "post": "create"})),
    path("crypto/orders/<str:id>", CryptoOrdersViewSet.as_view({"get": "retrieve"})),
    path("stars", StarsViewSet.as_view({"get": "retrieve"})),
    path("stars/orders", StarsOrdersViewSet.as_view({"get": "list", "post": "create"})),
    path("stars/orders/<str:id>", StarsOrdersViewSet.as_view({"get": "retrieve"})),
    path("payments/stars/callback", StarsCallbackViewSet.as_view({"post": "create"})),
    path("stripe/orders", StripeOrdersViewSet.as_view({"get": "list", "post": "create"})),
    path("stripe/orders/<str:id>", StripeOrdersViewSet.as_view({"get": "retrieve"})),
    path("stripe/portal", StripePortalViewSet.as_view({"post": "create"})),
    path("payments/stripe/callback", StripeCallbackViewSet.as_view({"post": "create"})),
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
