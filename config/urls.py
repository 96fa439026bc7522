from django.contrib import admin
from django.urls import include, path

from config.docs import OpenApiViewSet
from pages.public.docs.page import DocsViewSet
from pages.public.guide import GuideViewSet

urlpatterns = [
    path("", include("accounts.urls")),
    path("", include("catalog.urls")),
    path("", include("pages.public.urls")),
    path("", include("agents.urls")),
    path("", include("billing.urls")),
    path("", include("pages.account.urls")),
    path("", include("status.urls")),
    path("", include("mcp_server.urls")),
    path("openapi.json", OpenApiViewSet.as_view({"get": "retrieve"})),
    path("docs", DocsViewSet.as_view({"get": "retrieve"})),
    path("docs/<slug:group>", DocsViewSet.as_view({"get": "retrieve"})),
    path("guide", GuideViewSet.as_view({"get": "start"})),
    path("guide/", GuideViewSet.as_view({"get": "retrieve"})),
    path("guide/<path:file>", GuideViewSet.as_view({"get": "retrieve"})),
    path("admin/", admin.site.urls),
]

handler400 = "config.failures.bad_request"
handler403 = "config.failures.forbidden"
handler404 = "config.failures.not_found"
handler500 = "config.failures.server_error"
