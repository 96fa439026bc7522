"""The pages in a real browser: nothing comes from elsewhere, nothing is refused, nothing is wider than a phone."""

from __future__ import annotations

import asyncio

import pytest
from pytest_django.live_server_helper import LiveServer

from catalog.models import Article, Persona
from tests.browser import asked_elsewhere, complaints, running_browser, width_of, window
from tests.catalog.pages.test_hostile import HOSTILE, wear

pytestmark = pytest.mark.browser

PATHS = ["", "p/house-call-technician", "p/night-owl", "c/tech", "search?q=plan", "directory"]
PLACES = [f"/{lang}/{path}" for lang in ("en", "ru", "es", "pt", "tr", "id") for path in PATHS]


async def _visit(server: str, places: list[str], *, width: int) -> dict[str, tuple[int, list[str], list[str]]]:
    """How wide each is, whom else it asks, and what the browser complains of."""
    found = {}
    async with running_browser() as browser:
        context = (await window(browser, server, width=width)).context
        for place in places:
            async with await context.new_page() as page:
                await page.goto(place, wait_until="networkidle")
                assert await page.requests(), place
                found[place] = await width_of(page), await asked_elsewhere(page, server), await complaints(page)
    return found


@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_asks_only_us_and_fits(live_server: LiveServer, community: Persona, width: int) -> None:
    visits = asyncio.run(_visit(live_server.url, PLACES, width=width))
    for place, (found, elsewhere, complaints_of_it) in visits.items():
        assert (elsewhere, complaints_of_it) == ([], []), place
        assert found <= width, place


def test_what_authors_write_runs_nothing_and_breaks_no_page(live_server: LiveServer, community: Persona) -> None:
    Article.objects.create(persona=community, slug="note", title="a", status="published", body="a")
    places = ["/en/p/night-owl", "/en/", "/p/night-owl/note"]
    for text in (HOSTILE[1], HOSTILE[3], "W" * 200, "| a | b |\n|---|---|\n| " + "x" * 120 + " | y |"):
        wear(text)
        for place, found in asyncio.run(_visit(live_server.url, places, width=375)).items():
            assert found == (375, [], []), (place, text)
