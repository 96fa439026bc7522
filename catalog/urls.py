"""The catalog's URLs."""

from __future__ import annotations

from django.urls import path

from catalog.views.engines import EnginesViewSet
from catalog.views.llm_providers import LlmProvidersViewSet
from catalog.views.models import ModelsViewSet
from catalog.views.personas import PersonasViewSet
from catalog.views.tiers import TiersViewSet
from catalog.views.tools import ToolsViewSet

urlpatterns = [
    path("personas", PersonasViewSet.as_view({"get": "list"})),
    path("personas/<str:id>", PersonasViewSet.as_view({"get": "retrieve"})),
    path("tiers", TiersViewSet.as_view({"get": "list"})),
    path("engines", EnginesViewSet.as_view({"get": "list"})),
    path("models", ModelsViewSet.as_view({"get": "list"})),
    path("llm-providers", LlmProvidersViewSet.as_view({"get": "list"})),
    path("tools", ToolsViewSet.as_view({"get": "list"})),
]
