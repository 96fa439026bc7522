"""The chat page in a real Chromium: answers are shown as Markdown and cannot act; a turn is stopped and tried again."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterable

import pytest
from playwright.async_api import expect

from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import CONSOLE, GatewayProcess
from tests.agents.pod.gateway.talking import begin_to_say, is_over, say, talking, turns, until
from tests.agents.pod.gateway.visitor import PASSWORD
from tests.browser import asked_elsewhere, complaints
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.doubles.provider import ModelVendor

pytestmark = pytest.mark.browser

ANSWER = """# Bread

Some **strong** words, `code`, and a list:

1. flour
2. water

| what | grams |
|---|---:|
| flour | 500 |

```python
print("hello")
```

See https://example.com/bread and [this](https://example.com/that).
"""
HOSTILE = """<script>document.title = 'taken'</script><img src=x onerror="document.title = 'taken'">

![leak](https://evil.example/leak.png) [x](javascript:document.title='taken') [y](/logout) <https://ok.example/>

<style>body { display: none }</style><form action=/logout></form><iframe src="https://evil.example/"></iframe>

[a]: data:text/html,<script>document.title='taken'</script>
[data][a] <a href="javascript:document.title='taken'">click</a>

```"><img src=x onerror=alert(1)>
</code></pre><script>document.title = 'taken'</script>
"""
LINKS = "all => all.map((a) => [a.href, a.target, a.rel.includes('noopener')])"
# A worker that starts and then never answers.
NEVER = """
var ended = 0, another = Worker;
window.Worker = class {
  constructor() { setTimeout(() => this.onmessage({ data: "ready" })); }
  postMessage() {}
  terminate() { ended += 1; }
};
void 0;
"""
# Measures the longest time for which the page could not react.
WATCH = """
var longest = 0, last = performance.now();
setInterval(() => { longest = Math.max(longest, performance.now() - last); last = performance.now(); }, 20);
"""


def whole(text: str) -> list[Event]:
    return [{"type": "delta", "text": text}, {"type": "done", "reply": text}]


def test_an_answer_is_read_as_markdown_and_its_code_is_copied(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: whole(ANSWER)

    async def there() -> None:
        async with talking(gateway) as page:
            await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            await say(page, "bread?")
            said = page.locator(".agent .said")
            for tag in ("h3", "strong", "code", "ol", "li", "table", "th.to-right", ".code", "pre", "a"):
                await expect(said.locator(tag).first).to_be_visible()
            await expect(said.locator(".bar span")).to_have_text("python")
            assert await said.locator("a").evaluate_all(LINKS) == [
                ["https://example.com/bread", "_blank", True],
                ["https://example.com/that", "_blank", True],
            ]
            await expect(page.locator("#announced")).to_contain_text("Bread")
            await page.locator(".copy").click()
            for told in (".copy", "#announced"):
                await expect(page.locator(told)).to_have_text(ENGLISH["chat_copied"])
            assert await page.evaluate("navigator.clipboard.readText()") == 'print("hello")\n'
            await expect(page.locator(".turn.you strong")).to_have_count(0)

    asyncio.run(there())


def test_a_hostile_answer_neither_acts_nor_asks_another_host(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: whole(HOSTILE)

    async def there() -> None:
        async with talking(gateway) as page:
            await say(page, "**hi** <b>you</b>")
            said = page.locator(".agent .said")
            assert await page.title() == "Ada"
            assert await said.locator("script, img, style, form, iframe, [style], [onerror]").count() == 0
            hrefs = await said.locator("a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
            written = ["https://evil.example/leak.png", "https://ok.example/", "https://evil.example/"]
            assert [href for href in hrefs if href] == written  # the reader may click on these links
            await expect(said).to_contain_text("<script>")  # as the model wrote it
            assert (await turns(page))[0] == ["you", "**hi** <b>you</b>"]
            await page.goto("/", wait_until="networkidle")
            assert await asked_elsewhere(page, gateway.public) == []
            assert await complaints(page) == []
            assert await page.title() == "Ada"

    asyncio.run(there())


@pytest.mark.parametrize(
    "text",
    ["word " * 210_000, "> " * 30_000, "|a" * 8_000 + "\n" + "|-" * 8_000 + "\n" + "|b" * 8_000, "*a **b " * 9_000],
)
def test_no_answer_hangs_the_page(gateway: GatewayProcess, bridge: BridgeDouble, text: str) -> None:
    bridge.turn = lambda _: [
        *({"type": "delta", "text": text[at : at + 4096]} for at in range(0, len(text), 4096)),
        {"type": "done", "reply": text},
    ]

    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate(WATCH)
            await say(page, "much, please")
            assert await page.evaluate("document.querySelector('.agent .said').textContent.length") > 0
            assert await page.evaluate("longest") < 3000
            assert await page.evaluate("document.querySelectorAll('*').length") < 60_000
            bridge.turn = lambda _: whole("*short*")
            await say(page, "less")
            assert (await turns(page))[-1] == ["agent", "short"]

    asyncio.run(there())


def test_a_text_that_takes_too_long_to_read_is_shown_as_it_is(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: whole("*slow*")

    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate(NEVER)
            await say(page, "hi")
            assert (await turns(page))[-1] == ["agent", "*slow*"]
            assert await page.evaluate("ended") == 1
            await page.evaluate("void (window.Worker = another)")
            await say(page, "hi")
            assert (await turns(page))[-1] == ["agent", "slow"]

    asyncio.run(there())


def test_words_are_readable_while_they_come(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    released = threading.Event()

    def halves(_: ReceivedTurn) -> Iterable[Event]:
        yield {"type": "delta", "text": "**Look** here:\n\n```python\nprint(1)\n"}
        released.wait(15)
        yield {"type": "done", "reply": "**Look** here:\n\n```python\nprint(1)\n```\n"}

    bridge.turn = halves

    async def there() -> None:
        async with talking(gateway) as page:
            await begin_to_say(page, "hi")
            for shown in (".agent strong", ".agent pre"):
                await expect(page.locator(shown)).to_be_visible()
            # A screen reader does not read each piece aloud, and no button appears and disappears.
            await expect(page.locator("#log")).to_have_attribute("aria-live", "off")
            assert await page.locator("#announced").text_content() == ""
            assert await page.locator(".copy").count() == 0
            released.set()
            await is_over(page)
            assert await page.locator(".agent .code pre").text_content() == "print(1)\n"
            await expect(page.locator(".copy")).to_have_count(1)

    asyncio.run(there())


def test_words_come_also_while_their_reader_is_still_on_its_way(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    released = threading.Event()

    def slowly(_: ReceivedTurn) -> Iterable[Event]:
        yield {"type": "delta", "text": "*one* "}
        time.sleep(1)
        yield {"type": "delta", "text": "*two*"}
        released.wait(15)
        yield {"type": "done", "reply": "*one* *two*"}

    bridge.turn = slowly

    async def there() -> None:
        async with talking(gateway) as page:
            await page.evaluate("window.Worker = class { postMessage() {} terminate() {} }, 0")
            await begin_to_say(page, "hi")
            await expect(page.locator(".agent .said")).to_have_text("*one* *two*")
            released.set()

    asyncio.run(there())


def test_a_stopped_turn_ends_in_the_engine_and_is_tried_again(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    def endless(_: ReceivedTurn) -> Iterable[Event]:
        while True:
            time.sleep(0.05)
            yield {"type": "delta", "text": "and "}

    bridge.turn = endless

    async def there() -> None:
        async with talking(gateway) as page:
            await begin_to_say(page, "tell me")
            await until(page, "document.querySelector('.agent .said').textContent.length > 10")
            await page.locator("#stop").click()
            await is_over(page)
            assert [who for who, _ in await turns(page)] == ["you", "agent", "note"]
            assert (await turns(page))[-1][1] == ENGLISH["chat_stopped_text"]
            bridge.turn = lambda turn: whole(f"again: {turn.message}")
            await page.locator(".again").click()
            await is_over(page)
            assert await turns(page) == [["you", "tell me"], ["agent", "again: tell me"]]
            # The keyboard focus is not lost: it is in the box, or in the list if the box would open a phone's keyboard.
            assert await page.evaluate("[box, scroller].includes(document.activeElement)")

    asyncio.run(there())
    assert [turn.session_id for turn in bridge.aborted] == [bridge.turns[1].session_id]
    assert [turn.message for turn in bridge.turns] == ["tell me", "tell me"]


def test_a_refused_key_is_told_in_words_with_the_page_that_helps(
    start_gateway: StartGateway, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    gateway = start_gateway(**PASSWORD)
    provider.answer = lambda handler: handler.whole(401, b'{"error": {"message": "Incorrect API key"}}')

    def fails(_: ReceivedTurn) -> Iterable[Event]:
        gateway.call_model()
        yield {"type": "error", "hop": "engine", "message": "exit 1"}

    bridge.turn = fails

    async def there() -> None:
        async with talking(gateway) as page:
            await say(page, "hi")
            who, told = (await turns(page))[-1]
            assert (who, ENGLISH["chat_reason_key_refused"] in told, "Incorrect API key" in told) == (
                "note",
                True,
                True,
            )
            place = f"{CONSOLE}/account/agents/{gateway.start.agent_id}/model-key"
            await expect(page.locator(".note a")).to_have_attribute("href", place)
            await page.locator("#leave button").click()
            await page.goto("/login")
            await page.get_by_label(ENGLISH["login_user"]).fill("ada")
            await page.get_by_label(ENGLISH["login_password"]).fill("correct horse")
            await page.get_by_role("button", name=ENGLISH["login_submit"]).click()
            await say(page, "hi")
            assert ENGLISH["chat_ask_owner"] in (await turns(page))[-1][1]
            assert await page.locator(".note a").count() == 0

    asyncio.run(there())


def test_an_agent_without_a_key_says_so_and_leads_to_the_page_for_it(start_gateway: StartGateway) -> None:
    gateway = start_gateway(llm_key=None)

    async def there() -> None:
        async with talking(gateway, width=390) as page:
            await expect(page.locator("#notice")).to_contain_text(ENGLISH["chat_no_key_text"])
            await expect(page.locator("#notice a")).to_have_attribute("href", re.compile("/model-key$"))
            await say(page, "hi")
            await page.reload()
            told = await turns(page)
            assert [who for who, _ in told] == ["you", "note"]
            assert ENGLISH["chat_no_key_text"] in told[1][1]  # it does not say that the connection broke

    asyncio.run(there())
