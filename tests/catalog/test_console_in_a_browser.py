"""Each page of the admin in a real Chromium: its policy refuses nothing that the page needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from catalog.models import Persona
from tests.browser import Browser, Visit

pytestmark = pytest.mark.browser


def places(client: Client) -> Iterator[str]:
    """All that answers: lists, forms for new rows, and forms and history of one row of each kind."""
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


async def _visit(server: str, wanted: list[str], cookie: str) -> dict[str, Visit]:
    async with Browser() as browser:
        await browser.call("Network.setCookie", name=settings.SESSION_COOKIE_NAME, value=cookie, url=server)
        return {place: await browser.visit(server + place, width=1280) for place in wanted}


def test_no_page_of_the_admin_is_refused_what_it_needs(live_server: LiveServer, community: Persona) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com", "a-long-password"))
    wanted = [place for place in places(client) if client.get(place).status_code == 200]
    assert len(wanted) > 40
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    for place, visit in asyncio.run(_visit(live_server.url, wanted, cookie)).items():
        assert any("/static/admin/" in one for one in visit.requests), place
        assert [one for one in visit.requests if not one.startswith(live_server.url)] == [], place
        assert visit.complaints == [], place


async def _used(server: str, cookie: str) -> dict[str, Any]:
    async with Browser() as browser:
        await browser.call("Network.setCookie", name=settings.SESSION_COOKIE_NAME, value=cookie, url=server)
        await browser.visit(f"{server}/admin/catalog/tier/", width=1280)
        script = "document.querySelector('#action-toggle').click(); document.querySelectorAll('tr.selected').length"
        picked = await browser.call("Runtime.evaluate", expression=script)
        return {"picked": picked["result"].get("value"), "complaints": browser.visited.complaints}


def test_the_scripts_of_the_admin_run(live_server: LiveServer, community: Persona) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com", "a-long-password"))
    used = asyncio.run(_used(live_server.url, client.cookies[settings.SESSION_COOKIE_NAME].value))
    assert used["complaints"] == []
    assert used["picked"] > 0
