"""The chat page with hostile, huge, broken or repeated input: it stays quick, loses nothing, and shows the truth."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterable

import pytest
from playwright.async_api import Page, expect

from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.talking import begin_to_say, is_over, say, talking, turns, until
from tests.agents.pod.gateway.test_conversations_in_a_browser import TITLES, titles
from tests.agents.pod.gateway.test_page_in_a_browser import WATCH, whole
from tests.browser import complaints
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn

pytestmark = pytest.mark.browser

MOST_STILL_MS = 3000  # the longest time for which the page may not react, on a busy machine
WIDEST = "Math.max(...[document.documentElement, scroller, list].map((one) => one.scrollWidth - one.clientWidth))"
NAMES = [
    "W" * 80,
    "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"[:80],
    "\"}' data-words='{}' onload=document.title='taken' $words $name </title><script>",
    "\u202eadA \u0430\u0301\u0301\u0301\u0301 👨‍👩‍👧‍👦 \u2028line",
]
LONG = "w" * 5000
HUGE = {
    "lines": "\n" * 1_000_000,
    "short lines": "a\n" * 500_000,
    "one word": "x" * 1_000_000,
    "accents": "a" + "\u0301" * 200_000,
    "faces": "👨‍👩‍👧‍👦" * 40_000,
    "lists": "".join("  " * depth + "- a\n" for depth in range(300)),
    "brackets": "[" * 30_000 + "](" * 5_000,
    "ticks": "`" * 20_000 + "a" + "``" * 20_000,
    "turned": "\u202e\u2066a" * 30_000,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_a_name_and_fits_a_phone(start_gateway: StartGateway, name: str) -> None:
    gateway = start_gateway(name=name)

    async def there() -> None:
        async with talking(gateway, width=390) as page:
            await say(page, LONG[:1000])
            assert await page.locator("h1").text_content() == name
            assert await page.locator(".agent b").text_content() == name
            assert await page.evaluate("document.title.replace(/\\s+/g, ' ')") == " ".join(name.split())
            assert await page.locator("img, [onload], [onerror]").count() == 0
            assert await page.evaluate(WIDEST) == 0
            assert await complaints(page) == []

    asyncio.run(there())


def test_a_word_of_5000_characters_fits_a_phone_wherever_it_stands(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    answer = f"# {LONG}\n\n{LONG}\n\n> {LONG}\n\n1. {LONG}\n\n`{LONG}`\n\nhttps://a.example/{LONG}\n\n~~{LONG}~~"
    given = [{"kind": "note", "text": LONG}, {"kind": "data", "data": {LONG: LONG}}]
    given += [{"kind": "link", "url": f"https://a.example/{LONG[:1000]}", "name": LONG[:255], "media_type": "a/b"}]
    bridge.turn = lambda _: [*({"type": "part", "part": part} for part in given), *whole(answer)]

    async def there() -> None:
        async with talking(gateway, width=390) as page:
            await say(page, LONG)
            assert await page.evaluate(WIDEST) == 0
            bridge.turn = lambda _: [{"type": "error", "hop": "engine", "message": LONG}]
            await say(page, LONG)
            await page.locator("#list").click()
            assert await page.evaluate("list.open") is True
            assert await page.evaluate(WIDEST) == 0

    asyncio.run(there())


@pytest.mark.parametrize("kind", HUGE)
def test_a_huge_answer_leaves_the_page_quick(gateway: GatewayProcess, bridge: BridgeDouble, kind: str) -> None:
    text = HUGE[kind]
    bridge.turn = lambda _: [
        *({"type": "delta", "text": text[at : at + 16384]} for at in range(0, len(text), 16384)),
        {"type": "done", "reply": text},
    ]

    async def there() -> None:
        async with talking(gateway, width=390) as page:
            await page.evaluate(WATCH)
            await say(page, "much, please")
            assert await page.evaluate("longest") < MOST_STILL_MS
            assert await page.evaluate(WIDEST) == 0
            await page.reload()
            await page.evaluate(WATCH)
            await is_over(page)
            assert await page.evaluate("longest") < MOST_STILL_MS
            bridge.turn = lambda _: whole("*short*")
            await say(page, "less")
            assert (await turns(page))[-1] == ["agent", "short"]

    asyncio.run(there())


def test_an_answer_that_never_ends_is_stopped_and_the_page_stays_quick(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    def endless(_: ReceivedTurn) -> Iterable[Event]:
        while True:
            yield {"type": "delta", "text": "and on "}

    bridge.turn = endless

    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate(WATCH)
            await begin_to_say(page, "tell me")
            await until(page, "talk.turns[1] && talk.turns[1].text.length >= 262144", seconds=60)
            await page.evaluate("longest = 0")
            await page.wait_for_timeout(2000)
            assert await page.evaluate("longest") < MOST_STILL_MS / 3
            await page.locator("#stop").click()
            await is_over(page)
            assert (await turns(page))[-1] == ["note", ENGLISH["chat_stopped_text"]]

    asyncio.run(there())


@pytest.mark.parametrize(
    "junk",
    [
        [{"type": "delta", "text": 5}],
        [{"type": "part", "part": {"kind": "file", "bytes": "%%%"}}, {"type": "delta"}],
        [{"type": "delta", "text": "a\n\nevent: done\ndata: {\"reply\": \"no\"}\n\n\u2028\r\rb"}, {"type": "nothing"}],
        [{"type": "error", "hop": "engine", "message": "x" * 200_000}],
    ],
)  # fmt: skip
def test_junk_of_an_engine_is_told_and_tried_again(
    gateway: GatewayProcess, bridge: BridgeDouble, junk: list[Event]
) -> None:
    bridge.turn = lambda _: junk

    async def there() -> None:
        async with talking(gateway) as page:
            await say(page, "hi")
            who, told = (await turns(page))[-1]
            assert (who, told.startswith(ENGLISH["chat_failed_text"])) == ("note", True)
            assert len(told) < 20_000
            bridge.turn = lambda _: whole("well")
            await page.locator(".again").click()
            await is_over(page)
            assert await turns(page) == [["you", "hi"], ["agent", "well"]]

    asyncio.run(there())


def test_a_gateway_that_is_gone_in_the_middle_is_told_with_what_came(
    start_gateway: StartGateway, bridge: BridgeDouble
) -> None:
    gateway, waits = start_gateway(inside=False), threading.Event()

    def halves(_: ReceivedTurn) -> Iterable[Event]:
        yield {"type": "delta", "text": "half"}
        waits.wait(20)

    bridge.turn = halves

    async def there() -> None:
        async with talking(gateway) as page:
            await begin_to_say(page, "hi")
            await expect(page.locator(".agent .said")).to_have_text("half")
            gateway.signal(signal.SIGKILL)
            await is_over(page)
            assert await turns(page) == [["you", "hi"], ["agent", "half"], ["note", ENGLISH["chat_lost_text"]]]
            await expect(page.locator("#notice")).to_be_visible()
            await expect(page.locator(".again")).to_have_count(1)
            waits.set()

    asyncio.run(there())


# Holds back the answer of /state, which the page asks for after each turn, until the test calls `let_go`.
SLOW_STATE = """
var really = fetch, let_go;
var held = new Promise((done) => (let_go = done));
window.fetch = async (place, how) => { if (place === "/state") await held; return really(place, how); };
void 0;
"""


def test_what_became_of_a_message_stands_below_it_also_on_a_slow_line(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.turn = lambda _: [{"type": "error", "hop": "engine", "message": "broken"}]

    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate(SLOW_STATE)
            await say(page, "one")
            bridge.turn = lambda _: whole("two's answer")
            await say(page, "two")
            await page.locator("header .fresh").click()
            await page.evaluate("let_go()")
            await page.wait_for_timeout(300)
            assert await turns(page) == []  # nothing of it is in the new conversation
            await page.go_back()
            await expect(page.locator(".turn")).to_have_count(4)
            assert [who for who, _ in await turns(page)] == ["you", "note", "you", "agent"]

    asyncio.run(there())


def test_one_message_sent_twice_is_one(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate("box.value = 'once'; grow(); box.form.requestSubmit(); box.form.requestSubmit(); 1")
            await page.evaluate("box.value = 'more'; box.form.requestSubmit(); 1")
            await is_over(page)
            assert [text for _, text in await turns(page)] == ["once", "you said once"]
            assert await page.evaluate("box.value") == "more"  # still in the box, ready to be sent

    asyncio.run(there())
    assert [turn.message for turn in bridge.turns] == ["once"]


async def _second(page: Page) -> Page:
    """Open the same conversation in another tab."""
    other = await page.context.new_page()
    await other.goto(page.url)
    return other


def test_two_tabs_of_one_conversation_lose_nothing_of_each_other(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    released = {"one": threading.Event(), "two": threading.Event()}

    def waits(turn: ReceivedTurn) -> Iterable[Event]:
        yield {"type": "delta", "text": "well: "}
        if turn.message in released:
            released[turn.message].wait(20)
        yield {"type": "done", "reply": f"well: {turn.message}"}

    bridge.turn = waits

    async def there() -> None:
        async with talking(gateway) as page:
            await say(page, "zero")
            other = await _second(page)
            await begin_to_say(page, "one")
            await until(other, "talk.turns.length === 3")
            assert (await turns(other))[-1] == ["you", "one"]  # no note says that it is lost: the answer is on its way
            await begin_to_say(other, "two")
            await other.wait_for_timeout(300)
            released["one"].set()
            await is_over(page)
            released["two"].set()
            await is_over(other)
            told = [["you", "zero"], ["agent", "well: zero"], ["you", "one"], ["agent", "well: one"]]
            told += [["you", "two"], ["agent", "well: two"]]
            assert await turns(other) == told
            await until(page, "talk.turns.length === 6")
            assert await turns(page) == told
            await page.reload()
            assert await turns(page) == told

    asyncio.run(there())


def test_a_tab_that_is_still_answered_keeps_nothing_after_the_other_signed_out(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    released = threading.Event()

    def waits(_: ReceivedTurn) -> Iterable[Event]:
        yield {"type": "delta", "text": "secret "}
        released.wait(20)
        yield {"type": "done", "reply": "secret words"}

    async def there() -> None:
        async with talking(gateway) as page:
            await say(page, "hi")
            other = await _second(page)
            bridge.turn = waits
            await begin_to_say(other, "tell me")
            await until(other, "talk.turns.length === 4")
            await page.locator("#leave button").click()
            released.set()
            await is_over(other)
            assert await other.evaluate("keptSessions().length") == 0
            await say(other, "and more")
            assert ENGLISH["chat_signed_out_text"] in (await turns(other))[-1][1]
            assert await other.evaluate("keptSessions().length") == 0

    asyncio.run(there())


FILL_WITH_OTHERS = """
for (let room = true; room;) {
  const other = '{"version": 2, "said": "' + "x".repeat(1e5);
  try { localStorage.setItem(PREFIX + newSession(), other) } catch { room = false }
}
"""


def test_storage_full_of_another_releases_conversations_is_made_free(gateway: GatewayProcess) -> None:
    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate(FILL_WITH_OTHERS)
            await say(page, "hello")
            assert await titles(page) == ["hello"]
            await page.reload()
            assert (await turns(page))[0] == ["you", "hello"]

    asyncio.run(there())


STUFF = """
(long) => {
  const keep = (session, kept) => localStorage.setItem(PREFIX + session, JSON.stringify(kept));
  const turns = [...Array(10000).keys()].map((n) => ({ who: "agent", text: `*${n}*` }));
  keep(long, { at: 9e14, title: "many", turns });
  for (let n = 0; n < 10000; n++) keep(newSession(), { at: n, title: "n" + n, turns: [{ who: "you", text: "n" + n }] });
}
"""


def test_ten_thousand_conversations_and_one_of_ten_thousand_turns_are_bounded(gateway: GatewayProcess) -> None:
    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate(STUFF, f"web-{'0' * 24}")
            await page.evaluate(WATCH)
            started = time.monotonic()
            await page.locator("#list").click()
            assert len(await page.evaluate(TITLES)) == 40
            await page.locator(".conversation").first.click()
            await until(page, "talk.turns.length > 400", seconds=20)
            assert await page.evaluate("document.querySelectorAll('.turn').length") <= 501
            assert time.monotonic() - started < 20
            assert await page.evaluate("longest") < MOST_STILL_MS
            await say(page, "and?")
            assert await page.evaluate("keptSessions().length") == 40

    asyncio.run(there())
