from django.urls import path

from accounts.views.keys import KeysViewSet
from accounts.views.logout import LogoutViewSet
from accounts.views.me import MeViewSet
from accounts.views.oauth import (
    DeviceViewSet,
    ResourceMetadataViewSet,
    RevokeViewSet,
    ServerMetadataViewSet,
    TokenViewSet,
)
from accounts.views.request import RequestViewSet
from accounts.views.verify import VerifyViewSet

urlpatterns = [
    path("auth/request", RequestViewSet.as_view({"post": "create"})),
    path("auth/verify", VerifyViewSet.as_view({"post": "create"})),
    path("auth/logout", LogoutViewSet.as_view({"post": "create"})),
    path("keys", KeysViewSet.as_view({"get": "list", "post": "create"})),
    path("keys/<str:id>", KeysViewSet.as_view({"delete": "destroy"})),
    path("me", MeViewSet.as_view({"get": "retrieve"})),
    path("oauth/token", TokenViewSet.as_view({"post": "create"})),
    path("oauth/device", DeviceViewSet.as_view({"post": "create"})),
    path("oauth/revoke", RevokeViewSet.as_view({"post": "create"})),
    path(".well-known/oauth-authorization-server/oauth", ServerMetadataViewSet.as_view({"get": "retrieve"})),
    path(".well-known/oauth-protected-resource/oauth/mcp", ResourceMetadataViewSet.as_view({"get": "retrieve"})),
]
