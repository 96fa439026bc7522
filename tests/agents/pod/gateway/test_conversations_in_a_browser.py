"""Conversations on the chat page: they are listed and resumed, have limits, and nobody sees another person's."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterable

import pytest
from playwright.async_api import Page, expect

from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.talking import begin_to_say, focused, is_over, say, talking, turns, until
from tests.axe import barriers
from tests.browser import width_of
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn, echo

pytestmark = pytest.mark.browser

TITLES = "[...document.querySelectorAll('.conversation')].map((line) => line.firstChild.textContent)"


FILL = """
for (let room = true; room;) {
  try { localStorage.setItem("other" + Math.random(), "x".repeat(1e6)) } catch { room = false }
}
"""


BROKEN = [
    "{",
    "5",
    '{"at": 1, "title": "x", "turns": [{"who": "evil", "text": 5}]}',
    '{"at": 1, "title": "x", "turns": []}',
    '{"at": 1e300, "title": "x", "turns": [{"who": "you", "text": "hi"}]}',
    '{"at": 9e15, "title": 5, "turns": [{"who": "you", "text": "hi"}]}',
]


async def keep(page: Page, prefix: str, message: str, *, session: str = "") -> None:
    """Store a conversation as if the person had said this in it."""
    kept = json.dumps({"at": 1, "title": message, "turns": [{"who": "you", "text": message}]})
    name = f"{json.dumps(prefix)} + ({json.dumps(session)} || newSession())"
    await page.evaluate(f"localStorage.setItem({name}, {json.dumps(kept)})")


async def titles(page: Page) -> list[str]:
    await page.locator("#list").click()
    found: list[str] = await page.evaluate(TITLES)
    await page.keyboard.press("Escape")
    return found


def test_conversations_are_listed_newest_first_and_go_on_after_a_reload(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    async def there() -> None:
        async with talking(gateway) as page:
            assert await titles(page) == []
            await say(page, "the <b>first</b>\nconversation")
            await page.locator("header .fresh").click()
            assert await turns(page) == []
            await say(page, "the second")
            await page.reload()
            assert await turns(page) == [["you", "the second"], ["agent", "you said the second"]]
            assert await titles(page) == ["the second", "the <b>first</b> conversation"]
            await page.locator("#list").click()
            await page.locator(".conversation").nth(1).click()
            await expect(page.locator(".turn.you")).to_contain_text("first")
            await say(page, "and on")
            await page.go_back()
            await expect(page.locator(".turn.you")).to_contain_text("the second")
            assert (await titles(page))[0] == "the <b>first</b> conversation"

    asyncio.run(there())
    first, second, third = (turn.session_id for turn in bridge.turns)
    assert (first == third, first == second) == (True, False)


def test_signing_out_leaves_nothing_and_another_agent_at_the_same_address_sees_nothing(gateway: GatewayProcess) -> None:
    async def there() -> None:
        async with talking(gateway) as page:
            await keep(page, "agentpods-chat:agt_other:", "secret")
            await say(page, "mine")
            assert await titles(page) == ["mine"]
            named = await page.evaluate("location.hash")
            await page.locator("#leave button").click()
            await page.goto(f"/ticket?t={gateway.ticket()}")
            assert await titles(page) == []
            await page.goto(f"/{named}")
            assert await turns(page) == []
            kept = await page.evaluate("Object.keys(localStorage)")
            assert [name for name in kept if not name.startswith("agentpods-chat:agt_other:")] == []

    asyncio.run(there())


def test_what_is_kept_is_bounded_and_what_cannot_be_read_is_not_there(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.turn = lambda _: [{"type": "done", "reply": "x" * 150_000}]

    async def there() -> None:
        async with talking(gateway) as page:
            prefix = await page.evaluate("PREFIX")
            for n in range(60):
                await keep(page, prefix, f"old {n}")
            for broken in BROKEN:
                await page.evaluate(f"localStorage.setItem(PREFIX + newSession(), {json.dumps(broken)})")
            await say(page, "long")
            assert (await titles(page))[0] == "long"
            assert len(await titles(page)) == 40
            assert await page.evaluate("localStorage.getItem(PREFIX + talk.session).length") < 101_000
            await page.evaluate(FILL)
            bridge.turn = lambda _: [{"type": "done", "reply": "still here"}]
            await say(page, "full")
            assert (await turns(page))[-1] == ["agent", "still here"]

    asyncio.run(there())


def test_a_turn_that_a_reload_broke_off_is_told_and_tried_again(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    async def there() -> None:
        async with talking(gateway) as page:
            await say(page, "hello")
            await keep(page, await page.evaluate("PREFIX"), "hello", session=bridge.turns[0].session_id)
            await page.goto("/login")
            await page.goto("/" + "#" + bridge.turns[0].session_id)
            assert [who for who, _ in await turns(page)] == ["you", "note"]
            await page.locator(".again").click()
            await is_over(page)
            assert await turns(page) == [["you", "hello"], ["agent", "you said hello"]]

    asyncio.run(there())


def test_whoever_goes_on_to_another_conversation_ends_the_turn_and_may_come_back(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    def endless(_: ReceivedTurn) -> Iterable[Event]:
        while True:
            time.sleep(0.05)
            yield {"type": "delta", "text": "and "}

    bridge.turn = endless

    async def there() -> None:
        async with talking(gateway) as page:
            await begin_to_say(page, "tell me")
            await until(page, "document.querySelector('.agent .said').textContent.length > 10")
            await page.locator("header .fresh").click()
            await expect(page.locator("#state")).to_have_attribute("data-state", "ready")
            assert await turns(page) == []
            bridge.turn = echo
            await say(page, "something else")
            await page.go_back()
            await expect(page.locator(".turn.note")).to_be_visible()
            told = await turns(page)
            assert [who for who, _ in told] == ["you", "agent", "note"]
            assert (told[1][1].split()[0], told[2][1]) == ("and", ENGLISH["chat_stopped_text"])
            await page.locator(".again").click()
            await is_over(page)
            assert await turns(page) == [["you", "tell me"], ["agent", "you said tell me"]]

    asyncio.run(there())
    assert [turn.message for turn in bridge.aborted] == ["tell me"]


@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_has_no_barriers_fits_and_is_used_by_keyboard_alone(
    start_gateway: StartGateway, bridge: BridgeDouble, width: int, dark: bool
) -> None:
    gateway = start_gateway(name="Captain Zorblax the Long-Winded of Alpha Centauri", llm_key=None if dark else "sk-x")
    long = "word" * 60
    bridge.turn = lambda _: [
        {"type": "done", "reply": f"# T\n\n```text\n{long}\n```\n\n|{long}|b|\n|-|-|\n|c|d|\n\n{long}"}
    ]

    async def there() -> None:
        async with talking(gateway, width=width, dark=dark) as page:
            await expect(page.locator("#message")).to_be_focused()
            await page.keyboard.insert_text("hi")
            await page.keyboard.press("Enter")
            await is_over(page)
            assert await width_of(page) <= width
            assert await barriers(page) == []
            # The box shows the focus with its own round ring.
            await page.locator("#message").focus()
            await expect(page.locator("#message")).to_have_css("outline-style", "none")
            await expect(page.locator("#composer")).to_have_css("box-shadow", re.compile("px"))
            await page.locator("#list").focus()
            await page.keyboard.press("Enter")
            assert await page.evaluate("list.open") is True
            assert await barriers(page) == []
            await page.keyboard.press("Escape")
            assert (await page.evaluate("list.open"), await focused(page)) == (False, "list")
            await expect(page.locator("#list")).to_have_attribute("title", ENGLISH["chat_list"])

    asyncio.run(there())
