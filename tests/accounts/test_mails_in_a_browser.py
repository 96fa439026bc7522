"""Mails in a real Chromium: in the console's frame, and as a mail program shows them on a phone, light and dark."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from config import outgoing_mail
from config.mail_forms import FORMS
from tests.browser import complaints, one_window, running_browser, width_of, window

pytestmark = pytest.mark.browser

PHONE = 360
MAIL = "/admin/accounts/letter/mails/pod_stops/ru/"
LIGHT, DARK = "rgb(244, 245, 247)", "rgb(20, 22, 26)"


async def see(server: str, cookies: dict[str, str]) -> None:
    async with one_window(server, cookies=cookies) as page:
        await page.goto(MAIL)
        await expect(page.frame_locator("iframe").locator("body")).to_be_visible()
        assert [frame.url for frame in page.frames[1:]] == [f"{server}{MAIL}html?case="]
        assert await complaints(page) == []


def test_the_console_shows_a_mail_in_its_frame_and_is_refused_nothing(live_server: LiveServer) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com", "a-long-password"))
    name = settings.SESSION_COOKIE_NAME
    asyncio.run(see(live_server.url, {name: client.cookies[name].value}))


async def read(mails: list[Path]) -> None:
    async with running_browser() as browser:
        for mail in mails:
            for dark in (False, True):
                page = await window(browser, "", width=PHONE, dark=dark)
                await page.goto(mail.as_uri(), wait_until="networkidle")
                assert await width_of(page) <= PHONE, mail.stem
                await expect(page.locator("body")).to_have_css("background-color", DARK if dark else LIGHT)
                assert [one.url for one in await page.requests()] == [mail.as_uri()]
                assert await complaints(page) == [], mail.stem
                await page.context.close()


def test_a_mail_fits_on_a_phone_in_light_and_dark_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    for name, form in FORMS.items():
        mail = outgoing_mail.rendered(name, lang="ru", **form.values())
        (tmp_path / f"{name}.html").write_text(mail.html, encoding="utf-8")
    asyncio.run(read(sorted(tmp_path.iterdir())))
