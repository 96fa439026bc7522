"""The public pages of agents. They come before the catalog's, which answer every other path below a language."""

from __future__ import annotations

from django.urls import path

from agents.views.directory import DirectoryViewSet
from catalog.pages import urls  # registers the path converter `lang`

__all__ = ["urlpatterns", "urls"]

_directory = DirectoryViewSet.as_view({"get": "list"})
urlpatterns = [path("directory", _directory), path("<lang:lang>/directory", _directory)]
