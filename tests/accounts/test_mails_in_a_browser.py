"""Mails in a real Chromium: in the console's frame, and as a mail program shows them on a phone, light and dark."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from config import post
from config.mail_forms import FORMS
from tests.browser import Browser, Visit

pytestmark = pytest.mark.browser

PHONE = 360
MAIL = "/admin/accounts/letter/mails/pod_stops/ru/"
LIGHT, DARK = "rgb(244, 245, 247)", "rgb(20, 22, 26)"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


async def seen(server: str, cookie: str) -> tuple[Visit, str]:
    """The console's page of a mail, and the places of the frames in it that were shown."""
    async with Browser() as browser:
        await browser.call("Network.setCookie", name=settings.SESSION_COOKIE_NAME, value=cookie, url=server)
        visit = await browser.visit(server + MAIL, width=1366)
        tree = await browser.call("Page.getFrameTree")
        (frame,) = tree["frameTree"]["childFrames"]
        return visit, frame["frame"]["url"]


def test_the_console_shows_a_mail_in_its_frame_and_is_refused_nothing(live_server: LiveServer) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com", "a-long-password"))
    visit, frame = asyncio.run(seen(live_server.url, client.cookies[settings.SESSION_COOKIE_NAME].value))
    assert visit.complaints == []
    assert frame == f"{live_server.url}{MAIL}html?case="


async def read(pages: list[Path]) -> dict[tuple[str, bool], tuple[Visit, Any]]:
    found = {}
    async with Browser() as browser:
        for page in pages:
            for dark in (False, True):
                visit = await browser.visit(page.as_uri(), width=PHONE, dark=dark)
                ground = await browser.call("Runtime.evaluate", expression=BACKGROUND)
                found[page.stem, dark] = visit, ground["result"]["value"]
    return found


def test_a_mail_fits_on_a_phone_in_light_and_dark_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    for name, form in FORMS.items():
        mail = post.rendered(name, lang="ru", **form.values())
        (tmp_path / f"{name}.html").write_text(mail.html, encoding="utf-8")
    for (name, dark), (visit, ground) in asyncio.run(read(sorted(tmp_path.iterdir()))).items():
        assert visit.width <= PHONE, name
        assert ground == (DARK if dark else LIGHT), name
        assert len(visit.requests) == 1, name
        assert visit.complaints == [], name
