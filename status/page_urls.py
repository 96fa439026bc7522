"""The status page and its feed. They come before the catalog's URLs, which match every other path after a language."""

from __future__ import annotations

from django.urls import path

from catalog.pages import urls  # registers the converter of languages
from status.pages.feed import FeedViewSet
from status.pages.page import FEED, PATH, PageOfStatusViewSet

__all__ = ["urlpatterns", "urls"]

_page = PageOfStatusViewSet.as_view({"get": "retrieve"})
_feed = FeedViewSet.as_view({"get": "retrieve"})
urlpatterns = [
    path(PATH, _page),
    path(f"<lang:lang>/{PATH}", _page),
    path(FEED, _feed),
    path(f"<lang:lang>/{FEED}", _feed),
]
