"""The pages in a real browser: nothing is loaded from elsewhere, nothing is refused, no page is wider than a phone."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Article, Persona
from tests.browser import asked_elsewhere, complaints, one_window, running_browser, width_of, window
from tests.pages.public.test_hostile import HOSTILE, wear

pytestmark = pytest.mark.browser

PATHS = ["", "p/house-call-technician", "p/night-owl", "c/tech", "search?q=plan", "directory"]
PLACES = [f"/{lang}/{path}" for lang in ("en", "ru", "es", "pt", "tr", "id") for path in PATHS]


async def _visit(server: str, places: list[str], *, width: int) -> dict[str, tuple[int, list[str], list[str]]]:
    """For each page: its width in pixels, the other hosts that it asks, and the browser's complaints."""
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


@pytest.mark.parametrize("width", [375, 1366])
def test_a_link_on_the_front_page_leads_to_its_heading(live_server: LiveServer, community: Persona, width: int) -> None:
    """Also when the page above the heading is laid out only on the way."""

    async def steps() -> None:
        async with one_window(live_server.url, width=width) as page:
            await page.goto("/en/")
            await page.get_by_role("link", name="Tech", exact=True).first.click()
            await expect(page.get_by_role("heading", name="Tech", exact=True)).to_be_in_viewport(ratio=1)
            await page.goto("about:blank")
            await page.goto("/en/#plans")
            await expect(page.get_by_role("heading", name="Plans", exact=True)).to_be_in_viewport(ratio=1)

    asyncio.run(steps())
