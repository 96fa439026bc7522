"""The URLs of the public pages, each with and without a language in front."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, path, register_converter

from pages.elsewhere import ElsewhereViewSet
from pages.languages import LanguageConverter
from pages.public import directory
from pages.public.article import ArticleViewSet
from pages.public.category import CategoryViewSet
from pages.public.landing import LandingViewSet
from pages.public.machines.llms import LlmsViewSet
from pages.public.machines.well_known import API_CATALOG, SECURITY, ApiCatalogViewSet, SecurityTxtViewSet
from pages.public.persona import PersonaViewSet
from pages.public.robots import RobotsViewSet
from pages.public.search import SearchViewSet
from pages.public.sitemap import SitemapViewSet
from pages.public.status import feed, page

register_converter(LanguageConverter, "lang")


def _both(route: str, view: Any) -> list[URLPattern]:
    return [path(route, view), path(f"<lang:lang>/{route}", view)]


_persona = PersonaViewSet.as_view({"get": "retrieve"})
_article = ArticleViewSet.as_view({"get": "retrieve"})
_category = CategoryViewSet.as_view({"get": "retrieve"})
_elsewhere = ElsewhereViewSet.as_view({"get": "retrieve"})

urlpatterns = [
    *_both("", LandingViewSet.as_view({"get": "list"})),
    *_both("p/<slug:slug>", _persona),
    *_both("p/<slug:slug>/<slug:article>", _article),
    *_both("c/<slug:category>", _category),
    *_both("c/<slug:category>/<int:number>", _category),
    *_both(directory.PATH, directory.DirectoryViewSet.as_view({"get": "list"})),
    *_both(page.PATH, page.PageOfStatusViewSet.as_view({"get": "retrieve"})),
    *_both(page.FEED, feed.FeedViewSet.as_view({"get": "retrieve"})),
    *_both("search", SearchViewSet.as_view({"get": "list"})),
    path("robots.txt", RobotsViewSet.as_view({"get": "retrieve"})),
    path("llms.txt", LlmsViewSet.as_view({"get": "retrieve"})),
    path("llms-full.txt", LlmsViewSet.as_view({"get": "full"})),
    path(API_CATALOG, ApiCatalogViewSet.as_view({"get": "retrieve"})),
    path(SECURITY, SecurityTxtViewSet.as_view({"get": "retrieve"})),
    path("sitemap.xml", SitemapViewSet.as_view({"get": "list"})),
    path("sitemaps/<int:number>.xml", SitemapViewSet.as_view({"get": "retrieve"})),
    # Mistyped addresses get a page too, and not the API's error body.
    path("<lang:lang>", _elsewhere),
    path("<lang:lang>/<path:rest>", _elsewhere),
    path("p/<path:rest>", _elsewhere),
    path("c/<path:rest>", _elsewhere),
]
