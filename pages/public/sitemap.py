"""/sitemap.xml, /sitemaps/{number}.xml: every public page in every language (sitemaps.org).

If all pages fit, there is one file; otherwise it is an index of files. Each page names its other languages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from xml.sax.saxutils import escape, quoteattr

from django.http import HttpResponse
from rest_framework.request import Request

from catalog.models import Persona
from catalog.vocabulary import Category
from config.errors import NotFound
from pages.languages import LANGUAGES, address, alternates
from pages.public import persona_lists
from pages.public.base import PublicPageViewSet, answer
from pages.public.printing import press

IN_A_FILE = 200  # pages, each in six languages: far below the limits of a file, 50,000 addresses and 50 MB
XML = "application/xml"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@dataclass(frozen=True, slots=True)
class SitemapPage:
    """A page. `translated` is false if it exists in one language only."""

    path: str
    changed_at: datetime | None
    translated: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """All pages of one version of the catalog. Entries of unchanged personas are taken from the listing before."""

    of: persona_lists.PersonaLists
    places: list[SitemapPage]
    by_persona: dict[str, tuple[Persona, list[SitemapPage]]]


class NoSuchSitemap(NotFound):
    message = "no such sitemap: /sitemap.xml lists them"


class SitemapViewSet(PublicPageViewSet):
    def list(self, request: Request) -> HttpResponse:
        return answer(request, press.get("sitemap", _index), {}, kind=XML)

    def retrieve(self, request: Request, number: int) -> HttpResponse:
        if not _file(number):
            raise NoSuchSitemap
        return answer(request, press.get(f"sitemap {number}", lambda: _pages(_file(number))), {}, kind=XML)


_listing: Listing | None = None


def listed() -> Listing:
    global _listing  # noqa: PLW0603 # replaced as a whole, like the lists
    now, listing = persona_lists.current(), _listing
    if listing is None or listing.of is not now:
        listing = _listing = _list(now, listing)
    return listing


def _list(now: persona_lists.PersonaLists, before: Listing | None) -> Listing:
    known = before.by_persona if before else {}
    by_persona = {}
    for persona in now.personas:
        last = known.get(persona.id)
        by_persona[persona.id] = last if last and last[0] is persona else (persona, _of(persona))
    places = [
        SitemapPage("", now.updated_at),
        *(SitemapPage(f"c/{category}", now.updated_at) for category in Category.values),
    ]
    places.extend(chain.from_iterable(pages for _, pages in by_persona.values()))
    return Listing(now, places, by_persona)


def _index() -> str:
    now = listed()
    files = -(-len(now.places) // IN_A_FILE)
    if files == 1:
        return _pages(_file(1))
    changed = _lastmod(now.of.updated_at)
    entries = (
        f"<sitemap><loc>{escape(address(f'sitemaps/{number}.xml'))}</loc>{changed}</sitemap>"
        for number in range(1, files + 1)
    )
    return f"{DECLARATION}\n<sitemapindex {NAMESPACE}>\n{_lines(entries)}</sitemapindex>\n"


def _file(number: int) -> list[SitemapPage]:
    return listed().places[(number - 1) * IN_A_FILE : number * IN_A_FILE] if number else []


def _of(persona: Persona) -> list[SitemapPage]:
    articles = (
        SitemapPage(f"p/{persona.id}/{article.slug}", article.updated_at, translated=False)
        for article in persona.articles.all()
    )
    return [SitemapPage(f"p/{persona.id}", persona.updated_at), *articles]


def _pages(places: Iterable[SitemapPage]) -> str:
    entries = chain.from_iterable(_entries(place) for place in places)
    namespaces = f'{NAMESPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    return f"{DECLARATION}\n<urlset {namespaces}>\n{_lines(entries)}</urlset>\n"


def _entries(place: SitemapPage) -> Iterator[str]:
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
