"""A person is sent to us by a program, signs in, allows it and is sent back, in a real Chromium without scripts.

A browser asks the page's policy whether it may follow the form's answer to the program.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.oauth.models import OAuthClient, OAuthGrant
from tests.accounts.oauth.asking_program import CLIENT, request_of
from tests.browser import one_window, width_of
from tests.ports import free_port

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("program")]

PHONE = 390


async def _allowed(server: str, back: str) -> str:
    """Where the browser went at the end."""
    async with one_window(server, scripts=False, width=PHONE) as page:
        await page.goto(request_of(redirect_uri=back))
        await page.get_by_label("E-mail address").fill("ann@example.com")
        await page.get_by_role("button", name="Mail me a code").click()
        await page.get_by_label("Six digits").fill(await page.locator("code.secret").inner_text())
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading")).to_have_text("Connect a program?")
        assert await width_of(page) <= PHONE
        async with page.expect_request(lambda one: one.url.startswith(back)) as sent:
            await page.get_by_role("button", name="Allow").click(no_wait_after=True)
        return str((await sent.value).url)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_person_gets_back_to_the_program(live_server: LiveServer, host: str) -> None:
    OAuthClient.objects.filter(pk=CLIENT).update(redirect_uris=[f"http://{host}/back"])
    back = f"http://{host}:{free_port()}/back"
    place = asyncio.run(_allowed(live_server.url, back))
    assert "code=" in urlsplit(place).query
    assert OAuthGrant.objects.get().redirect_uri == back


async def _refused(server: str) -> None:
    long = "https://thief.example/" + "a" * 3_000
    async with one_window(server, scripts=False, width=PHONE) as page:
        await page.goto("/sign-in?next=/oauth/activate")
        await page.get_by_label("E-mail address").fill("ann@example.com")
        await page.get_by_role("button", name="Mail me a code").click()
        await page.get_by_label("Six digits").fill(await page.locator("code.secret").inner_text())
        await page.get_by_role("button", name="Sign in").click()
        for asked in ({"redirect_uri": long}, {"client_id": long}, {"resource": long}):
            await page.goto(request_of(**asked))
            await expect(page.get_by_role("heading")).to_have_text("This program cannot be connected")
            assert await width_of(page) <= PHONE


def test_a_refusal_fits_on_a_phone(live_server: LiveServer) -> None:
    asyncio.run(_refused(live_server.url))
