"""The URLs of Pennies in the API."""

from __future__ import annotations

from django.urls import path

from tests.billing.providers.adding.pennies.views import PenniesCallbackViewSet, PenniesOrdersViewSet

urlpatterns = [
    path("pennies/orders", PenniesOrdersViewSet.as_view({"post": "create"})),
    path("payments/pennies/callback", PenniesCallbackViewSet.as_view({"post": "create"})),
]
