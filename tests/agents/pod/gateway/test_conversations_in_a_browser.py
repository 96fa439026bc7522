"""Conversations on the chat page: listed, resumed, bounded, and never another's."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable

import pytest

from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import Gateway
from tests.agents.pod.gateway.talking import Talking, talking
from tests.axe import barriers
from tests.doubles.bridge import BridgeDouble, Event, Turn, echo

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


async def keep(person: Talking, prefix: str, message: str, *, session: str = "") -> None:
    """As if the person had once said this."""
    kept = json.dumps({"at": 1, "title": message, "turns": [{"who": "you", "text": message}]})
    name = f"{json.dumps(prefix)} + ({json.dumps(session)} || newSession())"
    await person.run(f"localStorage.setItem({name}, {json.dumps(kept)})")


async def titles(person: Talking) -> list[str]:
    await person.run("document.getElementById('list').click()")
    found: list[str] = await person.run(TITLES)
    await person.run("list.close()")
    return found


def test_conversations_are_listed_newest_first_and_go_on_after_a_reload(gateway: Gateway, bridge: BridgeDouble) -> None:
    async def there() -> None:
        async with talking(gateway) as person:
            assert await titles(person) == []
            await person.say("the <b>first</b>\nconversation")
            await person.click("header .fresh")
            assert await person.turns() == []
            await person.say("the second")
            await person.look(await person.run("location.pathname + location.hash"))
            assert await person.turns() == [["you", "the second"], ["agent", "you said the second"]]
            assert await titles(person) == ["the second", "the <b>first</b> conversation"]
            await person.click("#list")
            await person.run("document.querySelectorAll('.conversation')[1].click()")
            await person.until("talk.turns.length === 2 && talk.turns[0].text.includes('first')")
            await person.say("and on")
            await person.run("history.back(), new Promise((done) => setTimeout(done, 300))")
            assert (await person.turns())[0] == ["you", "the second"]
            assert (await titles(person))[0] == "the <b>first</b> conversation"

    asyncio.run(there())
    first, second, third = (turn.session_id for turn in bridge.turns)
    assert (first == third, first == second) == (True, False)


def test_signing_out_leaves_nothing_and_another_agent_at_the_same_address_sees_nothing(gateway: Gateway) -> None:
    async def there() -> None:
        async with talking(gateway) as person:
            await keep(person, "agentpods-chat:agt_other:", "secret")
            await person.say("mine")
            assert await titles(person) == ["mine"]
            named = await person.run("location.hash")
            await person.click("#leave button")
            await person.look(f"/ticket?t={gateway.ticket()}")
            assert await titles(person) == []
            await person.look(f"/{named}")
            assert await person.turns() == []
            kept = await person.run("Object.keys(localStorage)")
            assert [name for name in kept if not name.startswith("agentpods-chat:agt_other:")] == []

    asyncio.run(there())


def test_what_is_kept_is_bounded_and_what_cannot_be_read_is_not_there(gateway: Gateway, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: [{"type": "done", "reply": "x" * 150_000}]

    async def there() -> None:
        async with talking(gateway) as person:
            prefix = await person.run("PREFIX")
            for n in range(60):
                await keep(person, prefix, f"old {n}")
            for broken in BROKEN:
                await person.run(f"localStorage.setItem(PREFIX + newSession(), {json.dumps(broken)})")
            await person.say("long")
            assert (await titles(person))[0] == "long"
            assert len(await titles(person)) == 40
            assert await person.run("localStorage.getItem(PREFIX + talk.session).length") < 101_000
            await person.run(FILL)
            bridge.turn = lambda _: [{"type": "done", "reply": "still here"}]
            await person.say("full")
            assert (await person.turns())[-1] == ["agent", "still here"]

    asyncio.run(there())


def test_a_turn_that_a_reload_broke_off_is_told_and_tried_again(gateway: Gateway, bridge: BridgeDouble) -> None:
    async def there() -> None:
        async with talking(gateway) as person:
            await person.say("hello")
            await keep(person, await person.run("PREFIX"), "hello", session=bridge.turns[0].session_id)
            await person.look("/login")
            await person.look("/" + "#" + bridge.turns[0].session_id)
            assert [who for who, _ in await person.turns()] == ["you", "note"]
            await person.click(".again")
            await person.is_over()
            assert await person.turns() == [["you", "hello"], ["agent", "you said hello"]]

    asyncio.run(there())


def test_whoever_goes_on_to_another_conversation_ends_the_turn_and_may_come_back(
    gateway: Gateway, bridge: BridgeDouble
) -> None:
    def endless(_: Turn) -> Iterable[Event]:
        while True:
            time.sleep(0.05)
            yield {"type": "delta", "text": "and "}

    bridge.turn = endless

    async def there() -> None:
        async with talking(gateway) as person:
            await person.begin_to_say("tell me")
            await person.until("document.querySelector('.agent .said').textContent.length > 10")
            await person.click("header .fresh")
            await person.until("document.getElementById('state').dataset.state === 'ready'")
            assert await person.turns() == []
            bridge.turn = echo
            await person.say("something else")
            await person.run("history.back(), new Promise((done) => setTimeout(done, 300))")
            turns = await person.turns()
            assert [who for who, _ in turns] == ["you", "agent", "note"]
            assert (turns[1][1].split()[0], turns[2][1]) == ("and", ENGLISH["chat_stopped_text"])
            await person.click(".again")
            await person.is_over()
            assert await person.turns() == [["you", "tell me"], ["agent", "you said tell me"]]

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
        async with talking(gateway, width=width, dark=dark) as person:
            assert await person.focused() == "message"
            await person.browser.call("Input.insertText", text="hi")
            await person.press("Enter", code=13, text="\r")
            await person.is_over()
            assert await person.run("document.documentElement.scrollWidth") <= width
            assert await barriers(person.browser) == []
            # The ring is the box's own, and round.
            ring = "getComputedStyle(document.getElementById('message')).outlineStyle"
            await person.run("box.focus()")
            assert await person.run(ring) == "none"
            assert "px" in await person.run("getComputedStyle(document.getElementById('composer')).boxShadow")
            await person.run("document.getElementById('list').focus()")
            await person.press("Enter", code=13, text="\r")
            assert await person.run("list.open") is True
            assert await barriers(person.browser) == []
            await person.press("Escape", code=27)
            assert (await person.run("list.open"), await person.focused()) == (False, "list")
            assert ENGLISH["chat_list"] in await person.run("document.getElementById('list').title")

    asyncio.run(there())
