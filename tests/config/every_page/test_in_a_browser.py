"""Every page behind the sign-in in a real Chromium: no barrier, nothing wider than its window, nothing foreign."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test.signals import template_rendered
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts import sessions
from tests.config.every_page.conftest import World
from tests.config.every_page.looking import Looker
from tests.config.every_page.places import PLACES, UNSEEN, Place

pytestmark = pytest.mark.browser
TEMPLATES = Path(settings.BASE_DIR) / "templates"


@pytest.fixture
def shown() -> Iterator[set[str]]:
    """The templates that were shown meanwhile."""
    names: set[str] = set()

    def note(template: Any, **_: object) -> None:
        names.add(str(template.name))

    template_rendered.connect(note)
    yield names
    template_rendered.disconnect(note)


async def _findings(server: str, world: World, tokens: dict[str, str]) -> list[str]:
    found = []
    async with Looker(server) as looker:
        for who, places in itertools.groupby(PLACES, key=lambda place: place.who):
            await looker.be(tokens.get(who, ""))
            for place in places:
                found += [f"{place}: {one}" for one in await looker.findings(_filled(place, world))]
                if pictures := os.environ.get("PICTURES", ""):
                    name = f"{place.address}{place.form}{place.who}".translate(str.maketrans("/?&={}", "______"))
                    (Path(pictures) / f"{name}.png").write_bytes(await looker.picture())
        found += [f"its own: {one}" for one in await looker.findings_at_an_agents_own(world.ticket)]
    return found


def _filled(place: Place, world: World) -> Place:
    return replace(place, address=world.filled(place.address), form=world.filled(place.form))


def test_no_page_has_a_barrier_or_is_too_wide_or_asks_elsewhere_or_needs_a_script(
    live_server: LiveServer, world: World, shown: set[str]
) -> None:
    tokens = {who: sessions.start(user, attribution=None, now=timezone.now())[1] for who, user in world.people.items()}
    assert "\n".join(asyncio.run(_findings(live_server.url, world, tokens))) == ""
    written = {f"account/{one.name}" for one in (TEMPLATES / "account").glob("*.html")}
    assert written - shown == UNSEEN
