"""The account in a real Chromium, with and without scripts: sign in, copy a new key once, sign out."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey, Session, User
from agents.runtimes.base import Endpoint
from tests.agents.conftest import MakeAgent, settle
from tests.browser import asked_elsewhere, complaints, one_window, width_of
from tests.doubles.runtime import ScriptedRuntime

pytestmark = pytest.mark.browser

SECRET = re.compile(r"ak_live_[A-Za-z0-9]{40}")
# Submits a form twice, as a double click does, and asks each time whether it may be sent.
SENT_TWICE = """
form => [1, 2].map(() => form.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true })))
"""


async def sign_in(page: Page) -> None:
    await page.goto("/account?lang=en")
    await page.get_by_label("E-mail address").fill("ann@example.com")
    await page.get_by_role("button", name="Mail me a code").click()
    await page.get_by_label("Six digits").fill(await page.locator("code.secret").inner_text())
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Your account")).to_be_visible()


async def make_key(page: Page) -> str:
    await page.get_by_label("Name of the new key").fill("laptop")
    await page.get_by_role("button", name="Create a key").click()
    secret = await page.locator("#secret").inner_text()
    assert SECRET.fullmatch(secret)
    return secret


async def _with_scripts(server: str) -> None:
    async with one_window(server) as page:
        await sign_in(page)
        secret = await make_key(page)
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_role("button", name="Copy").click()
        await expect(page.locator("[data-copy]")).to_have_text("Copied")
        assert await page.evaluate("navigator.clipboard.readText()") == secret
        assert await page.evaluate("document.cookie") == "", "scripts read no cookie"
        flags = {(one["name"], one["httpOnly"], one["sameSite"]) for one in await page.context.cookies()}
        assert flags == {(name, True, "Lax") for name in ("agentpods-account", "agentpods-lang", "csrf")}
        await page.goto("/account")
        assert secret not in await page.content(), "it is never shown again"
        assert await page.locator("#keys form").evaluate(SENT_TWICE) == [True, False]
        assert await complaints(page) == []


def test_a_key_is_copied_by_one_click_and_never_shown_again(live_server: LiveServer) -> None:
    asyncio.run(_with_scripts(live_server.url))


async def _without_scripts(server: str) -> None:
    async with one_window(server, scripts=False, width=375) as page:
        await sign_in(page)
        secret = await make_key(page)
        await expect(page.locator("[data-copy]")).to_be_hidden()  # a button that needs a script
        await page.locator("#secret").click()
        assert await page.evaluate("getSelection().toString()") == secret, "one click selects the whole secret"
        await page.goto("/account")
        await page.get_by_role("link", name="Revoke").click()
        await page.locator("main form").get_by_role("button", name="Revoke").click()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("E-mail address")).to_be_visible()


def test_all_of_it_works_without_scripts(live_server: LiveServer) -> None:
    asyncio.run(_without_scripts(live_server.url))
    assert (ApiKey.objects.get().revoked_at is not None, Session.objects.count()) == (True, 0)


async def _wide(server: str, width: int, *, dark: bool) -> None:
    async with one_window(server, width=width, dark=dark) as page:
        for place in ("/sign-in?lang=ru", "/sign-in"):
            await page.goto(place, wait_until="networkidle")
            assert await width_of(page) == width
        await sign_in(page)
        await page.goto("/account?lang=ru", wait_until="networkidle")
        assert await width_of(page) == width
        assert await asked_elsewhere(page, server) == []
        assert await complaints(page) == []


@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_asks_only_us_and_fits(live_server: LiveServer, width: int) -> None:
    asyncio.run(_wide(live_server.url, width, dark=width == 320))


async def _open_agent(server: str, agent: str, pod: str) -> None:
    async with one_window(server) as page:
        await sign_in(page)
        await page.goto(f"/account/agents/{agent}")
        async with page.context.expect_page() as opened:
            await page.locator("form[action$='/ticket'] button").click()
        await (await opened.value).wait_for_url(f"{pod}/ticket?t=*")


def test_opening_an_agent_leads_to_its_own_page_on_another_host(
    live_server: LiveServer, make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    agent = settle(make_agent(User.objects.create_user("ann@example.com")))
    pod = live_server.url.replace("localhost", "127.0.0.1")
    runtime.addresses[agent.namespace] = Endpoint(public_url=pod, management_url=pod)
    asyncio.run(_open_agent(live_server.url, agent.pk, pod))
