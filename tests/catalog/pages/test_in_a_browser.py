"""The pages in a real browser: nothing comes from elsewhere, nothing is refused, nothing is wider than a phone."""

from __future__ import annotations

import asyncio

import pytest
from pytest_django.live_server_helper import LiveServer

from catalog.models import Article, Persona
from tests.browser import Browser, Visit
from tests.catalog.pages.test_hostile import HOSTILE, wear

pytestmark = pytest.mark.browser

PATHS = ["", "p/house-call-technician", "p/night-owl", "c/tech", "search?q=plan", "directory"]
PLACES = [f"/{lang}/{path}" for lang in ("en", "ru", "es", "pt", "tr", "id") for path in PATHS]


async def _visit(server: str, places: list[str], *, width: int, dark: bool = False) -> dict[str, Visit]:
    async with Browser() as browser:
        return {place: await browser.visit(server + place, width=width, dark=dark) for place in places}


@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_asks_only_us_and_fits(live_server: LiveServer, community: Persona, width: int) -> None:
    visits = asyncio.run(_visit(live_server.url, PLACES, width=width))
    for place, visit in visits.items():
        assert visit.requests, place
        assert [one for one in visit.requests if not one.startswith(live_server.url)] == []
        assert visit.complaints == [], place
        assert visit.width <= width, place


def test_what_authors_write_runs_nothing_and_breaks_no_page(live_server: LiveServer, community: Persona) -> None:
    Article.objects.create(persona=community, slug="note", title="a", status="published", body="a")
    places = ["/en/p/night-owl", "/en/", "/p/night-owl/note"]
    for text in (HOSTILE[1], HOSTILE[3], "W" * 200, "| a | b |\n|---|---|\n| " + "x" * 120 + " | y |"):
        wear(text)
        for place, visit in asyncio.run(_visit(live_server.url, places, width=375)).items():
            assert [one for one in visit.requests if not one.startswith(live_server.url)] == []
            assert (visit.complaints, visit.width) == ([], 375), (place, text)
