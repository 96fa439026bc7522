"""What strangers are asked to do without help, in a real Chromium on a phone, by what the pages show."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import TypeVar

import pytest
from django.conf import settings as configured
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts import sessions
from accounts.models import User
from agents import lifecycle
from agents.domains import claims
from agents.models import Agent, Reason, Status
from billing.leaving import closing, exports
from tests.agents.conftest import GatewayOf, bridge, gateway_of, settle
from tests.billing.pages.hands import Hands
from tests.browser import Browser
from tests.doubles.name_server import NameServer, Text
from tests.doubles.runtime import ScriptedRuntime
from tests.fixtures import OUR_ADDRESS

pytestmark = pytest.mark.browser
__all__ = ["bridge", "gateway_of"]

PHONE = 390
MOST_CLICKS = 7  # from the front page to the first answer
GLANCES, GLANCE_SECONDS = 150, 0.2
CODE = re.compile(r'<code class="secret">(\d{6})</code>')
DOMAIN = "bot.example.org"
Told = TypeVar("Told")


class Stranger(Hands):
    """Somebody with a phone; their clicks are counted, and a page that is wider than the phone is a failure."""

    def __init__(self, browser: Browser, server: str, *, scripts: bool = True) -> None:
        super().__init__(browser, server, scripts=scripts, width=PHONE)
        self.clicks = 0

    async def click(self, selector: str) -> None:
        self.clicks += 1
        await super().click(selector)
        await self.browser.loaded()
        assert await self.said("document.documentElement.scrollWidth") == PHONE, selector

    async def _find(self, selector: str) -> int:
        await self.until(f"document.querySelector({json.dumps(selector)}) !== null")
        return await super()._find(selector)

    async def until(self, expression: str) -> None:
        for _ in range(GLANCES):
            if await self.said(expression):
                return
            await asyncio.sleep(GLANCE_SECONDS)
        raise AssertionError(f"it was never so: {expression}; the page: {await self.reads()}")

    async def reads(self) -> str:
        return str(await self.said("document.body.innerText"))

    async def press_enter(self) -> None:
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}
        await self.browser.call("Input.dispatchKeyEvent", type="keyDown", text="\r", **enter)
        await self.browser.call("Input.dispatchKeyEvent", type="keyUp", **enter)

    async def mailed_code(self) -> str:
        code = CODE.search(await self.html())
        assert code, await self.reads()
        return code[1]

    async def tab_opened_at(self, start: str) -> str:
        """The address of the other tab, once the ticket in it is used."""
        for _ in range(GLANCES):
            tabs = (await self.browser.call("Target.getTargets"))["targetInfos"]
            if found := [tab["url"] for tab in tabs if tab["url"].startswith(start) and "ticket" not in tab["url"]]:
                return str(found[0])
            await asyncio.sleep(GLANCE_SECONDS)
        raise AssertionError(f"no tab opened at {start}")


async def in_the_world(work: Callable[[], Told]) -> Told:
    """What happens outside of the browser meanwhile."""

    def done() -> Told:
        try:
            return work()
        finally:
            connection.close()

    return await asyncio.to_thread(done)


def signed_in(user: User) -> dict[str, str]:
    token = sessions.start(user, attribution=None, now=timezone.now())[1]
    return {"name": configured.ACCOUNT_COOKIE_NAME, "value": token}


async def _tutor(server: str, gateway_of: GatewayOf) -> tuple[int, str]:
    async with Browser() as browser:
        person = Stranger(browser, server, scripts=False)
        await person.open("/")
        await person.click(".hero a.button[href$='#personas']")
        await person.click("#personas a[href*='/p/']")
        await person.click(".offer a.button")
        await person.type("#email", "ann@example.com")
        await person.click("main form.stack button")
        await person.type("#code", await person.mailed_code())
        await person.click("main form.stack button")
        await person.type("#key", "sk-of-mine")
        await person.click("main form.stack button.button")
        gateway = await in_the_world(lambda: gateway_of(settle(Agent.objects.get())))
        await person.open(f"/account/agents/{await in_the_world(lambda: Agent.objects.get().pk)}")
        await person.click("form[action$='/ticket'] button")
        place = await person.tab_opened_at(gateway.public)
        talk = Stranger(browser, "")
        await talk.open(place)
        await talk.type("#message", "Help me with chemistry")
        await talk.press_enter()
        await talk.until("document.getElementById('log').innerText.includes('you said Help me with chemistry')")
        return person.clicks + talk.clicks, await talk.reads()


def test_a_tutor_is_made_on_a_phone_and_answers_within_seven_clicks(
    live_server: LiveServer, catalog: None, runtime: ScriptedRuntime, gateway_of: GatewayOf, settings: Settings
) -> None:
    settings.BASE_URL = live_server.url
    clicks, _ = asyncio.run(_tutor(live_server.url, gateway_of))
    assert clicks <= MOST_CLICKS
    assert Agent.objects.get().llm_key == "sk-of-mine"


async def _bring_back(server: str, agent: Agent, cookie: dict[str, str]) -> tuple[int, str]:
    async with Browser() as browser:
        person = Stranger(browser, server)
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        await person.open("/account")
        await person.click(f"main a[href='/account/agents/{agent.pk}']")
        assert "You paused it." in await person.reads()
        await person.click("form[action$='/resume'] button")
        await in_the_world(lambda: settle(agent))
        await person.until("document.querySelector('.state').textContent === 'running'")
        return person.clicks, await person.reads()


def test_an_agent_that_stopped_is_brought_back_by_two_clicks(
    live_server: LiveServer, running: Agent, owner: User
) -> None:
    settle(lifecycle.pause(running, reason=Reason.OWNER, actor=f"user:{owner.pk}"))
    clicks, told = asyncio.run(_bring_back(live_server.url, running, signed_in(owner)))
    assert clicks == 2
    assert "You paused it." not in told
    running.refresh_from_db()
    assert running.status == Status.RUNNING


async def _move(server: str, agent: Agent, cookie: dict[str, str], dns: NameServer) -> str:
    proof = await in_the_world(lambda: claims.value_of(agent.user_id))
    async with Browser() as browser:
        person = Stranger(browser, server)
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        await person.open("/account")
        await person.click(f"main a[href='/account/agents/{agent.pk}']")
        await person.click("main a[href$='/domain']")
        await person.type("#domain", f"https://{DOMAIN}/")
        await person.click("main form.stack button")
        for shown in (f"_agentpods.{DOMAIN}", proof, OUR_ADDRESS, "not found yet"):
            assert shown in await person.reads()
        dns.answers(f"_agentpods.{DOMAIN}", [Text(proof)])
        dns.answers(DOMAIN, [OUR_ADDRESS])
        await person.click("form[action$='/domain/look'] button")
        return await person.reads()


def test_an_agent_is_moved_to_a_domain_by_the_records_that_its_page_shows(
    live_server: LiveServer, running: Agent, owner: User, dns: NameServer
) -> None:
    told = asyncio.run(_move(live_server.url, running, signed_in(owner), dns))
    assert "not found yet" not in told
    running.refresh_from_db()
    assert running.domain == DOMAIN


async def _leave(server: str, owner: User, cookie: dict[str, str]) -> tuple[int, str]:
    async with Browser() as browser:
        person = Stranger(browser, server)
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        await person.open("/account")
        await person.click("main a[href='/account/data']")
        await person.click("main form[action='/account/data'] button")
        await in_the_world(lambda: exports.make_due(now=timezone.now()))
        await person.until("document.querySelector('main a[download]') !== null")
        got = await person.said("fetch(document.querySelector('main a[download]').href).then(told => told.status)")
        await person.click("main .trail a[href='/account']")
        await person.click("main a[href='/account/delete']")
        await person.click("main form[action='/account/delete/code'] button")
        await person.type("main form.stack input[name='email']", owner.email)
        await person.type("main form.stack input[name='code']", await person.mailed_code())
        await person.click("main form.stack button")
        return got, await person.reads()


def test_a_person_takes_their_data_along_and_leaves(live_server: LiveServer, running: Agent, owner: User) -> None:
    got, told = asyncio.run(_leave(live_server.url, owner, signed_in(owner)))
    assert got == 200
    assert closing.of(owner) is not None, told
