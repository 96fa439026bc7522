"""From a persona to an agent in a real Chromium, on a phone, without a script, signing in on the way."""

from __future__ import annotations

import asyncio
import re

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts import sessions
from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import PERSONA, MakeAgent, settle
from tests.billing.pages.hands import Hands
from tests.browser import Browser
from tests.doubles.runtime import ScriptedRuntime

pytestmark = pytest.mark.browser

PHONE = 390
CODE = re.compile(r'<code class="secret">(\d{6})</code>')


async def _on_a_phone(server: str) -> dict[str, object]:
    async with Browser() as browser:
        person = Hands(browser, server, scripts=False, width=PHONE)
        await person.open(f"/en/p/{PERSONA}")
        await person.click(".offer a.button")
        await person.type("#email", "ann@example.com")
        await person.click("main form.stack button")
        code = CODE.search(await person.html())
        assert code
        await person.type("#code", code[1])
        await person.click("main form.stack button")
        await person.type("#key", "sk-of-mine")
        await person.click("main form.stack button.button")
        return {"page": await person.html(), "complaints": browser.visited.complaints}


def test_a_stranger_makes_an_agent_by_four_clicks_and_three_fields(
    live_server: LiveServer, catalog: None, runtime: ScriptedRuntime
) -> None:
    told = asyncio.run(_on_a_phone(live_server.url))
    agent = Agent.objects.get()
    assert (agent.llm_provider, agent.llm_key, agent.user.email) == ("openai", "sk-of-mine", "ann@example.com")
    assert f"/account/agents/{agent.pk}" in str(told["page"])
    assert told["complaints"] == []


def _bring_up() -> None:
    settle(Agent.objects.get())
    connection.close()


async def _watching(server: str, place: str, cookie: dict[str, str]) -> dict[str, object]:
    async with Browser() as browser:
        person = Hands(browser, server)
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        await person.open(place)
        before = await person.said("document.querySelector('.state').textContent")
        await asyncio.to_thread(_bring_up)
        for _ in range(100):
            if await person.said("!document.querySelector('[data-look-again]')"):
                break
            await asyncio.sleep(0.2)
        now = await person.said("document.querySelector('.state').textContent")
        return {"states": [before, now], "complaints": browser.visited.complaints}


def test_the_page_shows_by_itself_that_the_agent_runs(
    live_server: LiveServer, make_agent: MakeAgent, owner: User
) -> None:
    agent = make_agent()
    token = sessions.start(owner, attribution=None, now=timezone.now())[1]
    cookie = {"name": settings.ACCOUNT_COOKIE_NAME, "value": token}
    told = asyncio.run(_watching(live_server.url, f"/account/agents/{agent.pk}", cookie))
    assert told == {"states": ["starting", "running"], "complaints": []}


async def _shown(server: str, width: int, *, dark: bool) -> None:
    async with Browser() as browser:
        for lang in ("en", "ru"):
            visit = await browser.visit(f"{server}/create?persona={PERSONA}&lang={lang}", width=width, dark=dark)
            assert (visit.width, visit.complaints) == (width, [])
            assert [one for one in visit.requests if not one.startswith(server)] == []


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (1366, False)])
def test_the_choice_fits_the_window_and_asks_no_other_host(
    live_server: LiveServer, catalog: None, width: int, dark: bool
) -> None:
    asyncio.run(_shown(live_server.url, width, dark=dark))
