"""A real Chromium, driven by Playwright: windows, their requests, their console errors and the bytes they receive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from django.conf import settings
from django.utils import timezone
from playwright.async_api import Browser, Page, StorageState, async_playwright, expect

from accounts import sessions
from accounts.models import User
from tests.chromium import chromium

SECONDS = 30  # the longest wait for something to show, and for Playwright's clicks: a busy machine is no failure
LARGEST_PHONE = 700
_WIDTH = """
(() => {
  for (const one of document.querySelectorAll("body *"))
    if (getComputedStyle(one).contentVisibility === "auto") one.style.contentVisibility = "visible";
  return document.documentElement.scrollWidth;
})()
"""

expect.set_options(timeout=SECONDS * 1000)


@asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    own = chromium()
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=own.program, env=own.environment) as browser,
    ):
        yield browser


async def window(
    browser: Browser,
    server: str,
    *,
    width: int = 1280,
    dark: bool = False,
    scripts: bool = True,
    cookies: Mapping[str, str] | None = None,
    state: StorageState | None = None,
) -> Page:
    """A new window without history; only the given cookies are set. Paths are relative to the server."""
    context = await browser.new_context(
        base_url=server,
        viewport={"width": width, "height": 800},
        is_mobile=width < LARGEST_PHONE,
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        storage_state=state,
    )
    given = (cookies or {}).items()
    await context.add_cookies(
        [{"url": server, "name": name, "value": value, "httpOnly": True} for name, value in given]
    )
    return await context.new_page()


@asynccontextmanager
async def one_window(server: str, **how: Any) -> AsyncIterator[Page]:
    """A window in its own browser; see `window`."""
    async with running_browser() as browser:
        yield await window(browser, server, **how)


def signed_in(user: User) -> dict[str, str]:
    """The cookie of a new session."""
    return {settings.ACCOUNT_COOKIE_NAME: sessions.start(user, attribution=None, now=timezone.now())[1]}


async def width_of(page: Page) -> int:
    """The width of the whole document in pixels, including the parts that a browser lays out only near the window."""
    return int(await page.evaluate(_WIDTH))


async def asked_elsewhere(page: Page, server: str) -> list[str]:
    return [one.url for one in await page.requests() if not one.url.startswith(server)]


async def complaints(page: Page) -> list[str]:
    """Errors and warnings of the console, and errors of scripts, since the window was opened."""
    said = [one.text for one in await page.console_messages(filter="all") if one.type in {"error", "warning"}]
    return said + [str(error) for error in await page.page_errors(filter="all")]


async def received(page: Page) -> int:
    """The bytes received over the network, with headers."""
    sizes = [await one.sizes() for one in await page.requests() if not one.failure]
    return sum(one["responseBodySize"] + one["responseHeadersSize"] for one in sizes)
