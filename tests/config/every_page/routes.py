"""The pages of the URL map: the routes that a person opens in a browser."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver, resolve

from pages.account.base import AccountPageViewSet as OwnPage
from pages.public.base import PublicPageViewSet as PublicPage

LANGUAGE = "<lang:lang>/"


def pages() -> set[str]:
    """The routes that answer GET with a page. The same page in another language counts once."""
    return {
        route.removeprefix(LANGUAGE)
        for route, view in _routes(get_resolver().url_patterns)
        if issubclass(getattr(view, "cls", object), (OwnPage, PublicPage)) and "get" in getattr(view, "actions", {})
    }


def route_of(place: str) -> str:
    return str(resolve(place.partition("?")[0]).route).removeprefix(LANGUAGE)


def _routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, object]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield route, pattern.callback
