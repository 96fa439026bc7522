"""Every page behind the sign-in in a real Chromium: no barriers, nothing wider than the window, no other hosts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test.signals import template_rendered
from pytest_django.live_server_helper import LiveServer

from tests.browser import running_browser, signed_in
from tests.config.every_page.conftest import PageWorld
from tests.config.every_page.page_addresses import PLACES, UNSEEN, Place
from tests.config.every_page.page_checks import findings, findings_at_an_agents_own

pytestmark = pytest.mark.browser
TEMPLATES = Path(settings.BASE_DIR) / "templates"


@pytest.fixture
def shown() -> Iterator[set[str]]:
    """The names of the templates that are rendered meanwhile."""
    names: set[str] = set()

    def note(template: Any, **_: object) -> None:
        names.add(str(template.name))

    template_rendered.connect(note)
    yield names
    template_rendered.disconnect(note)


async def _findings(server: str, world: PageWorld, cookies: dict[str, dict[str, str]]) -> list[str]:
    found = []
    async with running_browser() as browser:
        for place in PLACES:
            filled = replace(place, address=world.filled(place.address), form=world.filled(place.form))
            seen = await findings(browser, server, filled, cookies.get(place.who, {}), _picture(place))
            found += [f"{place}: {one}" for one in seen]
        found += [f"its own: {one}" for one in await findings_at_an_agents_own(browser, world.ticket)]
    return found


def _picture(place: Place) -> Path | None:
    """The file for a picture of the page, if PICTURES names a directory."""
    name = f"{place.address}{place.form}{place.who}".translate(str.maketrans("/?&={}", "______"))
    return Path(pictures) / f"{name}.png" if (pictures := os.environ.get("PICTURES")) else None


def test_no_page_has_a_barrier_or_is_too_wide_or_asks_elsewhere_or_needs_a_script(
    live_server: LiveServer, world: PageWorld, shown: set[str]
) -> None:
    cookies = {who: signed_in(user) for who, user in world.people.items()}
    assert "\n".join(asyncio.run(_findings(live_server.url, world, cookies))) == ""
    written = {f"account/{one.name}" for one in (TEMPLATES / "account").glob("*.html")}
    assert written - shown == UNSEEN
