"""What an owner does, by keyboard alone, in a real Chromium: no mouse, nothing focused by a script."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.models import Agent, Status
from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.conftest import PERSONA, GatewayOf, bridge, gateway_of, settle
from tests.billing.pages.test_tries_in_a_browser import Stranger, in_the_world, signed_in
from tests.browser import Browser
from tests.doubles.bridge import BridgeDouble, Event, Turn
from tests.doubles.runtime import ScriptedRuntime
from tests.keyboard import press

pytestmark = pytest.mark.browser
__all__ = ["bridge", "gateway_of"]

MOST_STOPS = 60  # on the way to anything on a page


class Typist(Stranger):
    """Somebody without a mouse, whose focus is always to be seen."""

    async def click(self, selector: str) -> None:
        await self.reach(selector)
        await self.press("Enter")
        await self.browser.loaded()

    async def type(self, selector: str, text: str) -> None:
        await self.reach(selector)
        await self.browser.call("Input.insertText", text=text)

    async def reach(self, selector: str) -> None:
        await self.until(f"document.querySelector({json.dumps(selector)}) !== null")
        for _ in range(MOST_STOPS):
            if await self.said(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            await press(self.browser, "Tab")
        raise AssertionError(f"Tab does not lead to {selector}")

    async def press(self, key: str) -> None:
        await press(self.browser, key)
        await self.browser._settle()


def _endless(released: threading.Event) -> Callable[[Turn], Iterable[Event]]:
    def told(_: Turn) -> Iterable[Event]:
        yield {"type": "delta", "text": "and on"}
        released.wait(30)

    return told


async def _from_persona_to_chat(server: str, gateway_of: GatewayOf, bridge: BridgeDouble) -> str:
    async with Browser() as browser:
        person = Typist(browser, server)
        await person.open(f"/en/p/{PERSONA}")
        await person.click(".offer a.button")
        await person.type("#email", "ann@example.com")
        await person.press("Enter")
        await person.type("#code", await person.mailed_code())
        await person.press("Enter")
        await person.type("#key", "sk-of-mine")
        await person.click("main form.stack button.button")
        gateway = await in_the_world(lambda: gateway_of(settle(Agent.objects.get())))
        await person.until("document.querySelector('.state')?.textContent === 'running'")
        await person.click("form[action$='/ticket'] button")
        talk = Typist(browser, "")
        await talk.open(await talk.tab_opened_at(gateway.public))
        await _chat(talk, bridge)
        return await talk.reads()


async def _chat(talk: Typist, bridge: BridgeDouble) -> None:
    """A message, stopped, and told once more."""
    usual, released = bridge.turn, threading.Event()
    bridge.turn = _endless(released)
    await talk.type("#message", "Help me")
    await talk.press("Enter")
    await talk.until("document.getElementById('log').innerText.includes('and on')")
    await talk.click("#stop")
    await talk.until(f"document.getElementById('log').innerText.includes({json.dumps(ENGLISH['chat_stopped_text'])})")
    released.set()
    bridge.turn = usual
    await talk.click(".again")
    await talk.until("document.getElementById('log').innerText.includes('you said Help me')")
    await talk.click("#list")
    assert await talk.said("list.open") is True
    await talk.press("Escape")
    assert await talk.said("[list.open, document.activeElement.id].join()") == "false,list"


def test_an_agent_is_made_and_talked_to_and_a_message_stopped_and_told_again(
    live_server: LiveServer,
    catalog: None,
    runtime: ScriptedRuntime,
    gateway_of: GatewayOf,
    bridge: BridgeDouble,
    settings: Settings,
) -> None:
    settings.BASE_URL = live_server.url
    told = asyncio.run(_from_persona_to_chat(live_server.url, gateway_of, bridge))
    assert ENGLISH["chat_stopped_text"] not in told
    assert Agent.objects.get().llm_key == "sk-of-mine"


async def _delete(server: str, agent: Agent, cookie: dict[str, str]) -> str:
    async with Browser() as browser:
        person = Typist(browser, server)
        await browser.call("Network.setCookie", url=server, httpOnly=True, **cookie)
        await person.open("/account")
        await person.click(f"main a[href='/account/agents/{agent.pk}']")
        await person.click("main a[href$='/delete']")
        await person.type("main form.stack input[name='name']", "Another")
        await person.press("Enter")
        assert "Another" not in await person.reads()
        await in_the_world(agent.refresh_from_db)
        assert agent.status == Status.RUNNING
        await person.type("main form.stack input[name='name']", agent.name)
        await person.press("Enter")
        await person.browser.loaded()
        return await person.reads()


def test_an_agent_is_deleted_by_its_typed_name(live_server: LiveServer, running: Agent, owner: User) -> None:
    told = asyncio.run(_delete(live_server.url, running, signed_in(owner)))
    settle(running)
    assert running.status == Status.DELETED, told
