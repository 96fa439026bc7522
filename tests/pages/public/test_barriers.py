"""Every public page in a real Chromium: large, small, dark, light, by keyboard; no barriers, and few bytes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from catalog.models import Article, Persona
from pages.public.category import ON_A_PAGE
from status.models import Incident
from tests.axe import barriers
from tests.browser import asked_elsewhere, complaints, received, running_browser, width_of, window
from tests.keyboard import walked

pytestmark = pytest.mark.browser

MOST_BYTES = 100_000  # over the network, for a visitor's first page
PAGES = [
    "/en/", "/ru/", "/en/p/house-call-technician", "/ru/p/night-owl", "/p/night-owl/note", "/en/c/tech",
    "/en/search?q=plan", "/en/search?q=nothing-like-it", "/en/directory", "/en/status/page", "/ru/status/page",
    "/docs", "/docs/agents", "/docs/billing", "/docs/events", "/en/nothing", "/sign-in", "/en/c/social/2",
    "/p/no/such/page", "/c/no/such/page",
]  # fmt: skip


@pytest.fixture
def told(community: Persona) -> None:
    """An article with everything that Markdown has, a category with two pages, and an incident of each kind."""
    for number in range(ON_A_PAGE):
        Persona.objects.create(pk=f"owl-{number}", name=f"Owl {number}", status=community.status, **_kind_of(community))
    body = (
        "# One\n\n> said\n\n- a\n\n1. b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n"
        + "x" * 300
        + "\n```\n\n`c` [l](https://example.com)"
    )
    Article.objects.create(persona=community, slug="note", title="A note", status="published", body=body)
    now = timezone.now()
    first = Incident.objects.create(title="Slow boots", started_at=now - timedelta(hours=2), components=["runtime"])
    first.updates.create(at=now, status="identified", text="A disk is full.\nWe make room.")
    Incident.objects.create(
        title="Late mail",
        status="resolved",
        started_at=now - timedelta(days=9),
        resolved_at=now - timedelta(days=8),
        components=["mail", "agents.sweep"],
    )


def _kind_of(persona: Persona) -> dict[str, Any]:
    names = ("tagline", "for_who", "does", "category", "tier", "channels", "soul", "owner", "author")
    return {name: getattr(persona, name) for name in names}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.usefixtures("told")
def test_no_public_page_has_a_serious_barrier(live_server: LiveServer, width: int, dark: bool) -> None:
    async def looked_at() -> dict[str, list[str]]:
        found = {}
        async with running_browser() as browser:
            for place in PAGES:
                page = await window(browser, live_server.url, width=width, dark=dark)
                await page.goto(place)
                assert await width_of(page) <= width, place
                found[place] = await barriers(page)
                if not dark:
                    found[place] += await walked(page)
                assert await asked_elsewhere(page, live_server.url) == [], place
                assert 1_000 < await received(page) < MOST_BYTES, (place, await received(page))
                assert [one for one in await complaints(page) if "404" not in one] == [], place
                await page.context.close()
        return {place: those for place, those in found.items() if those}

    assert asyncio.run(looked_at()) == {}
