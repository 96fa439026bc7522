from django.urls import path

from accounts.views.keys import KeysViewSet
from accounts.views.logout import LogoutViewSet
from accounts.views.me import MeViewSet
from accounts.views.request import RequestViewSet
from accounts.views.verify import VerifyViewSet

urlpatterns = [
    path("auth/request", RequestViewSet.as_view({"post": "create"})),
    path("auth/verify", VerifyViewSet.as_view({"post": "create"})),
    path("auth/logout", LogoutViewSet.as_view({"post": "create"})),
    path("keys", KeysViewSet.as_view({"get": "list", "post": "create"})),
    path("keys/<str:id>", KeysViewSet.as_view({"delete": "destroy"})),
    path("me", MeViewSet.as_view({"get": "retrieve"})),
]
