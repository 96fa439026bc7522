"""A person who walks through the console by what they see, and counts the clicks. Typing and Enter are no clicks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from django.conf import settings
from django.test import Client
from playwright.async_api import Browser, Locator, Page, expect

from accounts.models import User
from tests.browser import complaints, running_browser, window

MOST_CLICKS = 6


class ConsoleWalk:
    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    async def click(self, what: Locator) -> None:
        await what.click()
        self.clicks += 1
        await self.page.wait_for_load_state()

    async def menu(self, name: str) -> None:
        await self.click(self.page.get_by_label("Sidebar").get_by_role("link", name=name, exact=True))

    async def only(self, choice: str) -> None:
        """Choose a filter."""
        await self.click(self.page.locator("#changelist-filter").get_by_role("link", name=choice, exact=True))

    async def search(self, words: str) -> None:
        await self.page.get_by_label("Search", exact=True).fill(words)
        await self.page.keyboard.press("Enter")
        await self.page.wait_for_load_state()

    async def link(self, name: str) -> None:
        await self.click(self.page.locator("#content").get_by_role("link", name=name, exact=True))

    async def button(self, name: str) -> None:
        await self.click(self.page.locator("#content").get_by_role("button", name=name, exact=True))

    async def open(self, *texts: str) -> None:
        """Follow the first link of the row with these texts."""
        await self.click(self.row(*texts).get_by_role("link").first)

    async def fill(self, label: str, text: str) -> None:
        await self.page.get_by_label(label, exact=True).fill(text)

    async def step(self, opener: str, button: str, *, reason: str) -> None:
        """Follow a button of the page of one row to the page that asks, and say why."""
        await self.link(opener)
        await self.confirm(button, reason=reason)

    async def confirm(self, button: str, *, reason: str) -> None:
        await self.fill("Reason:", reason)
        await self.button(button)

    def row(self, *texts: str) -> Locator:
        found = self.page.locator("#content").get_by_role("row")
        for text in texts:
            found = found.filter(has_text=text)
        return found

    async def says(self, text: str) -> None:
        await expect(self.page.locator("body")).to_contain_text(text)


def cookies_of(person: User) -> dict[str, str]:
    client, name = Client(), settings.SESSION_COOKIE_NAME
    client.force_login(person)
    return {name: client.cookies[name].value}


def walked(server: str, person: User, steps: Callable[[ConsoleWalk], Awaitable[None]]) -> None:
    """Let this operator take these steps."""

    async def walk_through(cookies: dict[str, str]) -> None:
        async with running_browser() as browser, walking(browser, server, cookies) as walk:
            await steps(walk)

    asyncio.run(walk_through(cookies_of(person)))


@asynccontextmanager
async def walking(browser: Browser, server: str, cookies: dict[str, str]) -> AsyncIterator[ConsoleWalk]:
    """From the first page of the console. At the end, the clicks are counted and the browser's complaints are read."""
    page = await window(browser, server, width=1366, cookies=cookies)
    await page.goto("/admin/")
    walk = ConsoleWalk(page)
    yield walk
    assert walk.clicks <= MOST_CLICKS, walk.clicks
    assert await complaints(page) == []
    await page.context.close()
