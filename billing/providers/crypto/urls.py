"""The URLs of stablecoins in the API."""

from django.urls import path

from billing.providers.crypto.views import CryptoOrdersViewSet, CryptoViewSet

urlpatterns = [
    path("crypto", CryptoViewSet.as_view({"get": "retrieve"})),
    path("crypto/orders", CryptoOrdersViewSet.as_view({"get": "list", "post": "create"})),
    path("crypto/orders/<str:id>", CryptoOrdersViewSet.as_view({"get": "retrieve"})),
]
