"""Each page of the console in a real Chromium: its content policy blocks nothing that the page needs, axe-core finds no
barrier, and it fits a screen of 1366 pixels.
"""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, Response, expect
from pytest_django.live_server_helper import LiveServer

from tests.accounts.console_pages.rows import ConsoleRows
from tests.axe import ANY, barriers
from tests.browser import asked_elsewhere, complaints, one_window, width_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DESK, PHONE = 1366, 360
OWN = ("my_sign_in", "add_app", "add_passkey", "new_codes", "remove_factor", "password_change")


async def looked_at(server: str, wanted: dict[str, str], cookies: dict[str, str], *, width: int) -> list[str]:
    """What is wrong with these pages."""
    found = []
    async with one_window(server, cookies=cookies, width=width) as first:
        for name, place in wanted.items():
            async with await first.context.new_page() as page:
                answer = await page.goto(place)
                found += [f"{name}: {one}" for one in await wrong_with(page, answer, server, width)]
    return found


async def wrong_with(page: Page, answer: Response | None, server: str, width: int) -> list[str]:
    found = [] if answer and answer.status == 200 else [str(answer and answer.status)]
    found += await complaints(page) + await asked_elsewhere(page, server)
    if (wide := await width_of(page)) > width:
        found.append(f"{wide} pixels wide")
    return found + await barriers(page, impacts=ANY)  # last, because axe itself tries what the policy forbids


def test_no_page_of_the_console_has_a_barrier_or_is_refused_what_it_needs(
    live_server: LiveServer, console_rows: ConsoleRows
) -> None:
    wanted = console_rows.addresses()
    found = asyncio.run(looked_at(live_server.url, wanted, console_rows.cookies(), width=DESK))
    assert "\n".join(found) == ""


def test_the_pages_of_an_operator_s_own_sign_in_fit_a_phone(live_server: LiveServer, console_rows: ConsoleRows) -> None:
    known = console_rows.addresses()
    wanted = {name: known[name] for name in OWN}
    found = asyncio.run(looked_at(live_server.url, wanted, console_rows.cookies(), width=PHONE))
    found += asyncio.run(looked_at(live_server.url, {"login": "/admin/login/"}, {}, width=PHONE))
    assert "\n".join(found) == ""


async def _used(server: str, cookies: dict[str, str]) -> None:
    async with one_window(server, cookies=cookies) as page:
        await page.goto("/admin/catalog/tier/")
        await page.locator("#action-toggle").check()
        await expect(page.locator("tr.selected").first).to_be_visible()
        assert await complaints(page) == []


def test_the_scripts_of_the_console_run(live_server: LiveServer, console_rows: ConsoleRows) -> None:
    asyncio.run(_used(live_server.url, console_rows.cookies()))
