"""Tasks that a stranger does without help in a real Chromium on a phone, using only what the pages show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest
from django.db import connection
from django.utils import timezone
from playwright.async_api import Locator, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.domains import claims
from agents.models import Agent, Reason, Status
from agents.running import lifecycle
from billing.leaving import closing, exports
from tests.agents.conftest import GatewayOf, settle
from tests.agents.pod.gateway.talking import begin_to_say
from tests.browser import one_window, running_browser, signed_in, width_of, window
from tests.doubles.name_server import NameServer, TxtRecord
from tests.doubles.runtime import ScriptedRuntime
from tests.fixtures import OUR_ADDRESS

pytestmark = pytest.mark.browser

PHONE = 390
MOST_CLICKS = 7  # from the front page to the first answer
DOMAIN = "bot.example.org"
Told = TypeVar("Told")


class Stranger:
    """A person with a phone. Their clicks are counted, and a page wider than the phone is a failure."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    async def click(self, what: Locator) -> None:
        self.clicks += 1
        await what.click()
        await self.page.wait_for_load_state()
        assert await width_of(self.page) == PHONE, what

    async def press(self, name: str) -> None:
        await self.click(self.page.get_by_role("button", name=name))


async def mailed_code(page: Page) -> str:
    return await page.locator("code.secret").inner_text()


def is_signed_in(url: str, at: str) -> bool:
    """Whether the opened tab has used its ticket."""
    return url.startswith(at) and "ticket" not in url


async def in_the_world(work: Callable[[], Told]) -> Told:
    """Do this work outside of the browser."""

    def done() -> Told:
        try:
            return work()
        finally:
            connection.close()

    return await asyncio.to_thread(done)


async def _tutor(server: str, gateway_of: GatewayOf) -> int:
    async with running_browser() as browser:
        page = await window(browser, server, width=PHONE, scripts=False)
        person = Stranger(page)
        await page.goto("/")
        await person.click(page.locator(".hero a.button[href$='#personas']"))
        await person.click(page.locator("#personas a[href*='/p/']").first)
        await person.click(page.locator(".offer a.button"))
        await page.get_by_label("E-mail address").fill("ann@example.com")
        await person.press("Mail me a code")
        await page.get_by_label("Six digits").fill(await mailed_code(page))
        await person.press("Sign in")
        await page.locator("#key").fill("sk-of-mine")
        await person.press("Create this agent")
        gateway = await in_the_world(lambda: gateway_of(settle(Agent.objects.get())))
        await page.goto(f"/account/agents/{await in_the_world(lambda: Agent.objects.get().pk)}")
        async with page.context.expect_page() as opened:
            await person.click(page.locator("form[action$='/ticket'] button"))
        await (await opened.value).wait_for_url(lambda url: is_signed_in(url, gateway.public))
        # Chatting needs scripts, and a window cannot turn scripts on later, so this is another window.
        talk = await window(browser, gateway.public, width=PHONE, state=await page.context.storage_state())
        await talk.goto("/")
        await begin_to_say(talk, "Help me with chemistry")
        await expect(talk.locator("#log")).to_contain_text("you said Help me with chemistry")
        return person.clicks


def test_a_tutor_is_made_on_a_phone_and_answers_within_seven_clicks(
    live_server: LiveServer, catalog: None, runtime: ScriptedRuntime, gateway_of: GatewayOf, settings: Settings
) -> None:
    settings.BASE_URL = live_server.url
    assert asyncio.run(_tutor(live_server.url, gateway_of)) <= MOST_CLICKS
    assert Agent.objects.get().llm_key == "sk-of-mine"


async def _bring_back(server: str, agent: Agent, cookies: dict[str, str]) -> int:
    async with one_window(server, width=PHONE, cookies=cookies) as page:
        person, paused = Stranger(page), page.get_by_text("You paused it.")
        await page.goto("/account")
        await person.click(page.locator(f"main a[href='/account/agents/{agent.pk}']"))
        await expect(paused).to_be_visible()
        await person.click(page.locator("form[action$='/resume'] button"))
        await in_the_world(lambda: settle(agent))
        await expect(page.locator("h1 .state")).to_have_text("running")
        await expect(paused).to_have_count(0)
        return person.clicks


def test_an_agent_that_stopped_is_brought_back_by_two_clicks(
    live_server: LiveServer, running: Agent, owner: User
) -> None:
    settle(lifecycle.pause(running, reason=Reason.OWNER, actor=f"user:{owner.pk}"))
    assert asyncio.run(_bring_back(live_server.url, running, signed_in(owner))) == 2
    running.refresh_from_db()
    assert running.status == Status.RUNNING


async def _move(server: str, agent: Agent, cookies: dict[str, str], dns: NameServer) -> None:
    proof = await in_the_world(lambda: claims.value_of(agent.user_id))
    async with one_window(server, width=PHONE, cookies=cookies) as page:
        person, shown = Stranger(page), page.locator("body")
        await page.goto("/account")
        await person.click(page.locator(f"main a[href='/account/agents/{agent.pk}']"))
        await person.click(page.locator("main a[href$='/domain']"))
        await page.get_by_label("Domain of your own").fill(f"https://{DOMAIN}/")
        await person.press("Save")
        for text in (f"_agentpods.{DOMAIN}", proof, OUR_ADDRESS, "not found yet"):
            await expect(shown).to_contain_text(text)
        dns.answers(f"_agentpods.{DOMAIN}", [TxtRecord(proof)])
        dns.answers(DOMAIN, [OUR_ADDRESS])
        await person.press("Check now")
        await expect(shown).not_to_contain_text("not found yet")


def test_an_agent_is_moved_to_a_domain_by_the_records_that_its_page_shows(
    live_server: LiveServer, running: Agent, owner: User, dns: NameServer
) -> None:
    asyncio.run(_move(live_server.url, running, signed_in(owner), dns))
    running.refresh_from_db()
    assert running.domain == DOMAIN


async def _leave(server: str, owner: User, cookies: dict[str, str]) -> str:
    async with one_window(server, width=PHONE, cookies=cookies) as page:
        person = Stranger(page)
        await page.goto("/account")
        await person.click(page.locator("main a[href='/account/data']"))
        await person.click(page.locator("main form[action='/account/data'] button"))
        await in_the_world(lambda: exports.make_due(now=timezone.now()))
        async with page.expect_download() as download:
            await page.locator("main a[download]").click()
        assert await (await download.value).failure() is None
        await person.click(page.locator("main .trail a[href='/account']"))
        await person.click(page.locator("main a[href='/account/delete']"))
        await person.press("Mail me a code to delete it")
        await page.get_by_label("Type the e-mail address of the account").fill(owner.email)
        await page.get_by_label("Six digits").fill(await mailed_code(page))
        await person.press("Delete my account")
        return await page.locator("body").inner_text()


def test_a_person_takes_their_data_along_and_leaves(live_server: LiveServer, running: Agent, owner: User) -> None:
    told = asyncio.run(_leave(live_server.url, owner, signed_in(owner)))
    assert closing.of(owner) is not None, told
