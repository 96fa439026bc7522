"""The URLs of Telegram Stars in the API."""

from django.urls import path

from billing.providers.stars.views import StarsCallbackViewSet, StarsOrdersViewSet, StarsViewSet

urlpatterns = [
    path("stars", StarsViewSet.as_view({"get": "retrieve"})),
    path("stars/orders", StarsOrdersViewSet.as_view({"get": "list", "post": "create"})),
    path("stars/orders/<str:id>", StarsOrdersViewSet.as_view({"get": "retrieve"})),
    path("payments/stars/callback", StarsCallbackViewSet.as_view({"post": "create"})),
]
