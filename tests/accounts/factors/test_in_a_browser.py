"""Two factors in a real Chromium with a virtual authenticator."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.console_models import Factor
from accounts.models import User
from tests.accounts.factors.people import PASSWORD, operator, shown_by_app
from tests.browser import one_window

pytestmark = pytest.mark.browser

KEY = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


async def log_in(page: Page) -> None:
    await page.goto("/admin/login/?next=/admin/my-sign-in/")
    await page.locator("#id_username").fill("owner@example.com")
    await page.locator("#id_password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()


async def add_both_and_use_the_passkey(server: str) -> None:
    async with one_window(server) as page:
        devtools = await page.context.new_cdp_session(page)
        await devtools.send("WebAuthn.enable")
        await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": KEY})
        await log_in(page)
        await page.get_by_role("link", name="Add a passkey").click()
        await page.locator("#id_name").fill("laptop")
        await page.get_by_role("button", name="Make the passkey").click()
        await expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
        await page.get_by_role("link", name="I have kept them").click()
        await page.get_by_role("link", name="Add an authenticator app").click()
        secret = (await page.locator("code.secret").inner_text()).replace(" ", "")
        await page.locator("#id_name").fill("phone")
        await page.locator("#id_code").fill(shown_by_app(secret=secret))
        await page.get_by_role("button", name="Add the app").click()
        await expect(page.get_by_role("cell", name="laptop", exact=True)).to_be_visible()
        await page.get_by_role("button", name="Log out").click()
        await log_in(page)
        await expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
        await page.get_by_role("button", name="Use a passkey").click()
        await expect(page.get_by_role("heading", name="My sign-in")).to_be_visible()


@pytest.mark.django_db(transaction=True)
def test_an_operator_adds_a_passkey_and_an_app_and_signs_in(live_server: LiveServer, settings: Settings) -> None:
    settings.BASE_URL = live_server.url
    operator()
    asyncio.run(add_both_and_use_the_passkey(live_server.url))
    used = Factor.objects.get(name="laptop")
    assert used.counter > 0
    assert User.objects.get().console_sessions.get().proof == "passkey"
