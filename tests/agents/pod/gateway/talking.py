"""A person on the chat page in a real Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page

from tests.agents.pod.gateway.process import GatewayProcess
from tests.browser import SECONDS, one_window

OVER = "!running && !talk.turns.some((turn) => turn.drawing)"
TURNS = """
[...document.querySelectorAll('.turn')]
  .map((turn) => [turn.className.split(' ')[1], turn.querySelector('.said').innerText.trim()])
"""


async def begin_to_say(page: Page, message: str) -> None:
    await page.locator("#message").fill(message)
    await page.keyboard.press("Enter")


async def say(page: Page, message: str) -> None:
    """Send the message, and wait until the agent has answered or failed."""
    await begin_to_say(page, message)
    await is_over(page)


async def until(page: Page, condition: str, *, seconds: float = SECONDS) -> None:
    """Wait until the condition is true. `page.wait_for_function` cannot be used: it evaluates text inside the page,
    which the page's policy forbids.
    """
    async with asyncio.timeout(seconds):
        await page.evaluate(f"new Promise((done) => setInterval(() => ({condition}) && done(), 50))")


async def is_over(page: Page) -> None:
    await until(page, OVER)
    await page.wait_for_timeout(100)  # time for the work after the last drawing


async def turns(page: Page) -> list[list[str]]:
    """The turns on the page: who said what."""
    found: list[list[str]] = await page.evaluate(TURNS)
    return found


async def focused(page: Page) -> str:
    return str(await page.evaluate("document.activeElement.id || document.activeElement.className"))


@asynccontextmanager
async def talking(gateway: GatewayProcess, *, width: int = 1366, dark: bool = False) -> AsyncIterator[Page]:
    """The chat page. The owner is signed in by a ticket."""
    async with one_window(gateway.public, width=width, dark=dark) as page:
        await page.goto(f"/ticket?t={gateway.ticket()}")
        yield page
