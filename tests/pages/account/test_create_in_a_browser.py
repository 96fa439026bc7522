"""From a persona to an agent in a real Chromium, on a phone, without scripts, and with the sign-in in between."""

from __future__ import annotations

import asyncio

import pytest
from django.db import connection
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import PERSONA, MakeAgent, settle
from tests.browser import asked_elsewhere, complaints, one_window, signed_in, width_of
from tests.doubles.runtime import ScriptedRuntime

pytestmark = pytest.mark.browser

PHONE = 390


async def _on_a_phone(server: str) -> str:
    """Create an agent and return the address of its page."""
    async with one_window(server, scripts=False, width=PHONE) as page:
        await page.goto(f"/en/p/{PERSONA}")
        await page.locator(".offer a.button").click()
        await page.get_by_label("E-mail address").fill("ann@example.com")
        await page.get_by_role("button", name="Mail me a code").click()
        await page.get_by_label("Six digits").fill(await page.locator("code.secret").inner_text())
        await page.get_by_role("button", name="Sign in").click()
        await page.locator("#key").fill("sk-of-mine")
        await page.get_by_role("button", name="Create this agent").click()
        await page.wait_for_url("/account/agents/*")
        assert await complaints(page) == []
        return page.url


def test_a_stranger_makes_an_agent_by_four_clicks_and_three_fields(
    live_server: LiveServer, catalog: None, runtime: ScriptedRuntime
) -> None:
    place = asyncio.run(_on_a_phone(live_server.url))
    agent = Agent.objects.get()
    assert (agent.llm_provider, agent.llm_key, agent.user.email) == ("openai", "sk-of-mine", "ann@example.com")
    assert f"/account/agents/{agent.pk}" in place


def _bring_up() -> None:
    settle(Agent.objects.get())
    connection.close()


async def _watching(server: str, place: str, cookies: dict[str, str]) -> None:
    async with one_window(server, cookies=cookies) as page:
        await page.goto(place)
        state = page.locator("h1 .state")
        await expect(state).to_have_text("starting")
        await asyncio.to_thread(_bring_up)
        await expect(state).to_have_text("running")
        await expect(page.locator("[data-look-again]")).to_have_count(0)
        assert await complaints(page) == []


def test_the_page_shows_by_itself_that_the_agent_runs(
    live_server: LiveServer, make_agent: MakeAgent, owner: User
) -> None:
    agent = make_agent()
    asyncio.run(_watching(live_server.url, f"/account/agents/{agent.pk}", signed_in(owner)))


async def _shown(server: str, width: int, *, dark: bool) -> None:
    async with one_window(server, width=width, dark=dark) as page:
        for lang in ("en", "ru"):
            await page.goto(f"/create?persona={PERSONA}&lang={lang}", wait_until="networkidle")
            assert await width_of(page) == width
        assert await complaints(page) == []
        assert await asked_elsewhere(page, server) == []


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (1366, False)])
def test_the_choice_fits_the_window_and_asks_no_other_host(
    live_server: LiveServer, catalog: None, width: int, dark: bool
) -> None:
    asyncio.run(_shown(live_server.url, width, dark=dark))
