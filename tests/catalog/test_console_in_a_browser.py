"""Each page of the console in a real Chromium: its content policy blocks nothing that the page needs, axe-core finds no
barrier, and it fits a screen of 1366 pixels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Persona
from tests.axe import ANY, barriers
from tests.browser import asked_elsewhere, complaints, one_window, width_of

pytestmark = pytest.mark.browser
DESK = 1366
# Of Django's own inlines and of its widget with two lists.
DJANGOS = ("empty-table-header: ", "aria-prohibited-attr: ")


def places(client: Client) -> Iterator[str]:
    """All admin pages: lists, forms for new rows, and the form and history of one row of each kind."""
    yield from ("/admin/", "/admin/password_change/", "/admin/billing/books/")
    for model in admin.site._registry:
        kind = f"{model._meta.app_label}_{model._meta.model_name}"
        first = model._default_manager.first()
        wanted: dict[str, tuple[Any, ...]] = {"changelist": (), "add": ()}
        wanted |= {"change": (first.pk,), "history": (first.pk,)} if first else {}
        for page, arguments in wanted.items():
            try:
                yield reverse(f"admin:{kind}_{page}", args=arguments)
            except NoReverseMatch:
                continue


def operator() -> tuple[Client, dict[str, str]]:
    """An operator's client, and the cookie of their session."""
    client, name = Client(), settings.SESSION_COOKIE_NAME
    client.force_login(User.objects.create_superuser("operator@example.com", "a-long-password"))
    return client, {name: client.cookies[name].value}


async def _visit(server: str, wanted: list[str], cookies: dict[str, str]) -> None:
    found: list[str] = []
    async with one_window(server, cookies=cookies, width=DESK) as first:
        for place in wanted:
            async with await first.context.new_page() as page:
                await page.goto(place, wait_until="networkidle")
                assert any("/static/admin/" in one.url for one in await page.requests()), place
                assert await asked_elsewhere(page, server) == [], place
                assert await complaints(page) == [], place
                assert await width_of(page) <= DESK, place
                barred = [one for one in await barriers(page, impacts=ANY) if not one.startswith(DJANGOS)]
                found += [f"{place}: {one}" for one in barred]
        assert "\n".join(found) == ""


def test_no_page_of_the_admin_is_refused_what_it_needs(live_server: LiveServer, community: Persona) -> None:
    client, cookies = operator()
    wanted = [place for place in places(client) if client.get(place).status_code == 200]
    assert len(wanted) > 40
    asyncio.run(_visit(live_server.url, wanted, cookies))


async def _used(server: str, cookies: dict[str, str]) -> None:
    async with one_window(server, cookies=cookies) as page:
        await page.goto("/admin/catalog/tier/")
        await page.locator("#action-toggle").check()
        await expect(page.locator("tr.selected").first).to_be_visible()
        assert await complaints(page) == []


def test_the_scripts_of_the_admin_run(live_server: LiveServer, community: Persona) -> None:
    asyncio.run(_used(live_server.url, operator()[1]))
