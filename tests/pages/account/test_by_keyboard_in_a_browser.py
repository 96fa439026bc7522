"""An owner's actions by keyboard alone, in a real Chromium: without a mouse, and without focus set by a script."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable

import pytest
from playwright.async_api import Locator, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.models import Agent, Status
from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.conftest import PERSONA, GatewayOf, settle
from tests.browser import one_window, signed_in
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.runtime import ScriptedRuntime
from tests.pages.account.test_tries_in_a_browser import PHONE, in_the_world, is_signed_in, mailed_code

pytestmark = pytest.mark.browser

MOST_STOPS = 60  # presses of Tab to reach any element of a page


class Typist:
    """A person without a mouse; the focus must always be visible."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def reach(self, what: Locator) -> None:
        await what.wait_for()
        for _ in range(MOST_STOPS):
            if await what.evaluate("one => one === document.activeElement"):
                return
            await self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {what}")

    async def press(self, what: Locator) -> None:
        await self.reach(what)
        await self.page.keyboard.press("Enter")

    async def type(self, what: Locator, text: str) -> None:
        await self.reach(what)
        await self.page.keyboard.insert_text(text)

    async def send(self, what: Locator, text: str) -> None:
        await self.type(what, text)
        await self.page.keyboard.press("Enter")


def _endless(released: threading.Event) -> Callable[[ReceivedTurn], Iterable[Event]]:
    def told(_: ReceivedTurn) -> Iterable[Event]:
        yield {"type": "delta", "text": "and on"}
        released.wait(30)

    return told


async def _from_persona_to_chat(server: str, gateway_of: GatewayOf, bridge: BridgeDouble) -> None:
    async with one_window(server, width=PHONE) as page:
        person = Typist(page)
        await page.goto(f"/en/p/{PERSONA}")
        await person.press(page.locator(".offer a.button"))
        await person.send(page.get_by_label("E-mail address"), "ann@example.com")
        await person.send(page.get_by_label("Six digits"), await mailed_code(page))
        await person.type(page.locator("#key"), "sk-of-mine")
        await person.press(page.get_by_role("button", name="Create this agent"))
        await page.wait_for_url("/account/agents/*")
        gateway = await in_the_world(lambda: gateway_of(settle(Agent.objects.get())))
        await expect(page.locator("h1 .state")).to_have_text("running")
        async with page.context.expect_page() as opened:
            await person.press(page.locator("form[action$='/ticket'] button"))
        talk = await opened.value
        await talk.wait_for_url(lambda url: is_signed_in(url, gateway.public))
        await _chat(Typist(talk), bridge)


async def _chat(person: Typist, bridge: BridgeDouble) -> None:
    """Send a message, stop the answer, and send the message again."""
    page, log = person.page, person.page.get_by_role("log")
    usual, released = bridge.turn, threading.Event()
    bridge.turn = _endless(released)
    await person.send(page.get_by_label(ENGLISH["chat_message"]), "Help me")
    await expect(log).to_contain_text("and on")
    await person.press(page.get_by_role("button", name=ENGLISH["chat_stop"]))
    await expect(log).to_contain_text(ENGLISH["chat_stopped_text"])
    released.set()
    bridge.turn = usual
    await person.press(page.locator(".again"))
    await expect(log).to_contain_text("you said Help me")
    await expect(log).not_to_contain_text(ENGLISH["chat_stopped_text"])
    await person.press(page.locator("#list"))
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()
    await expect(page.locator("#list")).to_be_focused()


def test_an_agent_is_made_and_talked_to_and_a_message_stopped_and_told_again(
    live_server: LiveServer,
    catalog: None,
    runtime: ScriptedRuntime,
    gateway_of: GatewayOf,
    bridge: BridgeDouble,
    settings: Settings,
) -> None:
    settings.BASE_URL = live_server.url
    asyncio.run(_from_persona_to_chat(live_server.url, gateway_of, bridge))
    assert Agent.objects.get().llm_key == "sk-of-mine"


async def _delete(server: str, agent: Agent, cookies: dict[str, str]) -> str:
    async with one_window(server, width=PHONE, cookies=cookies) as page:
        person, name = Typist(page), page.get_by_label("Type the name of the agent")
        await page.goto("/account")
        await person.press(page.locator(f"main a[href='/account/agents/{agent.pk}']"))
        await person.press(page.locator("main a[href$='/delete']"))
        await person.send(name, "Another")
        await expect(page.locator(".problem")).to_be_visible()
        await expect(page.locator("body")).not_to_contain_text("Another")
        await in_the_world(agent.refresh_from_db)
        assert agent.status == Status.RUNNING
        async with page.expect_event("load"):
            await person.send(name, agent.name)
        return await page.locator("body").inner_text()


def test_an_agent_is_deleted_by_its_typed_name(live_server: LiveServer, running: Agent, owner: User) -> None:
    told = asyncio.run(_delete(live_server.url, running, signed_in(owner)))
    settle(running)
    assert running.status == Status.DELETED, told
