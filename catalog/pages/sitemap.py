"""/sitemap.xml, /sitemaps/{number}.xml: every public page in every language (sitemaps.org).

One file while everything fits; with more it is an index of files. Each page names its other languages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from xml.sax.saxutils import escape, quoteattr

from django.http import HttpResponse
from rest_framework.request import Request

from catalog.models import Persona
from catalog.pages import shelves
from catalog.pages.base import PageViewSet, answer
from catalog.pages.languages import LANGUAGES, address, alternates
from catalog.pages.printing import press
from catalog.vocabulary import Category
from config.errors import NotFound

IN_A_FILE = 200  # pages, each in six languages: far below the 50,000 addresses and 50 MB that a file may have
XML = "application/xml"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@dataclass(frozen=True, slots=True)
class Place:
    """A page; `translated` is false where it has one address alone."""

    path: str
    changed_at: datetime | None
    translated: bool = True


class NoSuchSitemap(NotFound):
    def __init__(self) -> None:
        super().__init__("no such sitemap: /sitemap.xml lists them")


class SitemapViewSet(PageViewSet):
    def list(self, request: Request) -> HttpResponse:
        return answer(request, press.get("sitemap", _index), {}, kind=XML)

    def retrieve(self, request: Request, number: int) -> HttpResponse:
        found = _file(number)
        if not found:
            raise NoSuchSitemap
        return answer(request, press.get(f"sitemap {number}", lambda: _pages(found)), {}, kind=XML)


def _index() -> str:
    now = shelves.current()
    files = -(-sum(1 for _ in _places(now)) // IN_A_FILE)
    if files == 1:
        return _pages(_file(1))
    changed = _lastmod(now.updated_at)
    entries = (
        f"<sitemap><loc>{escape(address(f'sitemaps/{number}.xml'))}</loc>{changed}</sitemap>"
        for number in range(1, files + 1)
    )
    return f"{DECLARATION}\n<sitemapindex {NAMESPACE}>\n{_lines(entries)}</sitemapindex>\n"


def _file(number: int) -> list[Place]:
    return list(islice(_places(shelves.current()), (number - 1) * IN_A_FILE, number * IN_A_FILE)) if number else []


def _places(now: shelves.Shelves) -> Iterator[Place]:
    yield Place("", now.updated_at)
    for category in Category.values:
        yield Place(f"c/{category}", now.updated_at)
    yield from chain.from_iterable(_of(persona) for persona in now.personas)


def _of(persona: Persona) -> Iterator[Place]:
    yield Place(f"p/{persona.id}", persona.updated_at)
    for article in persona.articles.all():
        yield Place(f"p/{persona.id}/{article.slug}", article.updated_at, translated=False)


def _pages(places: Iterable[Place]) -> str:
    entries = chain.from_iterable(_entries(place) for place in places)
    namespaces = f'{NAMESPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    return f"{DECLARATION}\n<urlset {namespaces}>\n{_lines(entries)}</urlset>\n"


def _entries(place: Place) -> Iterator[str]:
    changed = _lastmod(place.changed_at)
    if not place.translated:
        yield f"<url><loc>{escape(address(place.path))}</loc>{changed}</url>"
        return
    others = "".join(_link(one.hreflang, one.href) for one in alternates(place.path))
    others += _link("x-default", address(place.path))
    for language in LANGUAGES.values():
        yield f"<url><loc>{escape(address(place.path, language))}</loc>{changed}{others}</url>"


def _link(hreflang: str, href: str) -> str:
    return f'<xhtml:link rel="alternate" hreflang="{hreflang}" href={quoteattr(href)}/>'


def _lastmod(at: datetime | None) -> str:
    return f"<lastmod>{at:%Y-%m-%dT%H:%M:%SZ}</lastmod>" if at else ""


def _lines(entries: Iterable[str]) -> str:
    return "".join(f"{entry}\n" for entry in entries)
