"""The whole URL map, by app."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("accounts.urls")),
    path("", include("catalog.urls")),
    path("", include("agents.urls")),
    path("", include("status.urls")),
    path("admin/", admin.site.urls),
]

handler400 = "config.api.bad_request"
handler403 = "config.api.forbidden"
handler404 = "config.api.not_found"
handler500 = "config.api.server_error"
