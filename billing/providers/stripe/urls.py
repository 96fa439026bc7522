"""The URLs of Stripe in the API, and its page of the account."""

from django.urls import path

from billing.providers.stripe.views import CardPage, StripeCallbackViewSet, StripeOrdersViewSet, StripePortalViewSet

urlpatterns = [
    path("stripe/orders", StripeOrdersViewSet.as_view({"get": "list", "post": "create"})),
    path("stripe/orders/<str:id>", StripeOrdersViewSet.as_view({"get": "retrieve"})),
    path("stripe/portal", StripePortalViewSet.as_view({"post": "create"})),
    path("payments/stripe/callback", StripeCallbackViewSet.as_view({"post": "create"})),
    path("account/agents/<str:id>/card", CardPage.as_view({"get": "retrieve", "post": "create"})),
]
