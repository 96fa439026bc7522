"""The guide in a real Chromium: its policy stops nothing that it needs, it asks nobody else, and it can be searched."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from config.guide import SITE, main
from tests.axe import barriers
from tests.browser import asked_elsewhere, complaints, one_window, width_of

pytestmark = pytest.mark.browser

PAGES = ["/guide/", "/guide/tutorials/first-sale/", "/guide/reference/settings/"]


@pytest.fixture(autouse=True)
def built(settings: Any) -> None:
    assert main() == 0
    settings.GUIDE_ROOT = Path(SITE)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1366])
def test_a_page_has_no_barrier_and_asks_nobody_else(live_server: LiveServer, width: int, dark: bool) -> None:
    async def looked_at() -> list[Any]:
        found: list[Any] = []
        async with one_window(live_server.url, width=width, dark=dark) as page:
            for place in PAGES:
                await page.goto(place)
                found += [(place, one) for one in await barriers(page)]
                found += [(place, "too wide")] if await width_of(page) > width else []
            found += await asked_elsewhere(page, live_server.url) + await complaints(page)
        return found

    assert asyncio.run(looked_at()) == []


def test_the_search_finds_a_page(live_server: LiveServer) -> None:
    async def searched() -> None:
        async with one_window(live_server.url) as page:
            await page.goto("/guide/")
            await page.get_by_role("button", name="Search").first.click()
            await page.get_by_role("combobox").fill("rotate keys")
            await page.get_by_role("option", name="Rotate keys").first.click()
            await expect(page).to_have_url(re.compile("/guide/how-to/rotate-keys/"))
            assert await complaints(page) == []

    asyncio.run(searched())


def test_without_scripts_a_page_is_read_all_the_same(live_server: LiveServer) -> None:
    async def read() -> None:
        async with one_window(live_server.url, scripts=False) as page:
            await page.goto("/guide/tutorials/first-sale/")
            await expect(page.get_by_role("heading", name="Your first sale")).to_be_visible()

    asyncio.run(read())
