"""The URLs of the account's pages."""

from __future__ import annotations

from django.urls import path

from billing.pages.account import AccountViewSet

urlpatterns = [
    path("account", AccountViewSet.as_view({"get": "retrieve"})),
]
