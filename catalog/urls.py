from __future__ import annotations

from typing import Any

from django.urls import path

from catalog.views.articles import ArticlesViewSet, OwnArticlesViewSet
from catalog.views.author import AuthorViewSet
from catalog.views.engines import EnginesViewSet
from catalog.views.llm_providers import LlmProvidersViewSet
from catalog.views.models import ModelsViewSet
from catalog.views.personas import OwnPersonasViewSet, PersonasViewSet
from catalog.views.publish import PublishViewSet
from catalog.views.tiers import TiersViewSet
from catalog.views.tools import CatalogToolsViewSet
from catalog.views.unpublish import UnpublishViewSet

one: dict[str, Any] = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    path("personas", PersonasViewSet.as_view({"get": "list", "post": "create"})),
    path("personas/<str:id>", PersonasViewSet.as_view(one)),
    path("personas/<str:id>/publish", PublishViewSet.as_view({"post": "create"})),
    path("personas/<str:id>/unpublish", UnpublishViewSet.as_view({"post": "create"})),
    path("personas/<str:id>/articles", ArticlesViewSet.as_view({"post": "create"})),
    path("personas/<str:id>/articles/<str:slug>", ArticlesViewSet.as_view(one)),
    path("me/personas", OwnPersonasViewSet.as_view({"get": "list"})),
    path("me/personas/<str:id>", OwnPersonasViewSet.as_view({"get": "retrieve"})),
    path("me/personas/<str:id>/articles/<str:slug>", OwnArticlesViewSet.as_view({"get": "retrieve"})),
    path("me/author", AuthorViewSet.as_view({"get": "retrieve", "put": "update"})),
    path("tiers", TiersViewSet.as_view({"get": "list"})),
    path("engines", EnginesViewSet.as_view({"get": "list"})),
    path("models", ModelsViewSet.as_view({"get": "list"})),
    path("llm-providers", LlmProvidersViewSet.as_view({"get": "list"})),
    path("tools", CatalogToolsViewSet.as_view({"get": "list"})),
]
