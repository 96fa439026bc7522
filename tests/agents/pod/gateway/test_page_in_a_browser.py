"""The chat page in a real Chromium: what is said is shown as Markdown and never acts; a turn is stopped and retried."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterable

import pytest

from agents.pod.gateway.words.en import WORDS as ENGLISH
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import CONSOLE, Gateway
from tests.agents.pod.gateway.talking import talking
from tests.agents.pod.gateway.visitor import PASSWORD
from tests.doubles.bridge import BridgeDouble, Event, Turn
from tests.doubles.provider import Provider

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
# A worker that begins, and then never answers.
NEVER = """
var ended = 0, another = Worker;
window.Worker = class {
  constructor() { setTimeout(() => this.onmessage({ data: "ready" })); }
  postMessage() {}
  terminate() { ended += 1; }
};
"""
# The longest time for which the page did nothing else.
WATCH = """
var longest = 0, last = performance.now();
setInterval(() => { longest = Math.max(longest, performance.now() - last); last = performance.now(); }, 20);
"""


def whole(text: str) -> list[Event]:
    return [{"type": "delta", "text": text}, {"type": "done", "reply": text}]


def test_an_answer_is_read_as_markdown_and_its_code_is_copied(gateway: Gateway, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: whole(ANSWER)

    async def there() -> None:
        async with talking(gateway) as person:
            await person.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
            await person.say("bread?")
            said = "document.querySelector('.agent .said')"
            tags = ["h3", "strong", "code", "ol", "li", "table", "th.to-right", ".code", "pre", "a"]
            assert await person.run(f"{json.dumps(tags)}.filter((tag) => !{said}.querySelector(tag))") == []
            assert await person.run(f"{said}.querySelector('.bar span').textContent") == "python"
            links = f"[...{said}.querySelectorAll('a')].map((a) => [a.href, a.target, a.rel.includes('noopener')])"
            assert await person.run(links) == [
                ["https://example.com/bread", "_blank", True],
                ["https://example.com/that", "_blank", True],
            ]
            assert "Bread" in await person.run("document.getElementById('announced').textContent")
            await person.run("document.querySelector('.copy').click(), new Promise((done) => setTimeout(done, 200))")
            told = [
                await person.run(f"document.{of}.textContent")
                for of in ("querySelector('.copy')", "getElementById('announced')")
            ]
            assert told[0] == told[1]
            assert told[0] in {ENGLISH["chat_copied"], ENGLISH["chat_not_copied"]}
            if told[0] == ENGLISH["chat_copied"]:
                assert await person.run("navigator.clipboard.readText()") == 'print("hello")\n'
            assert await person.run("document.querySelector('.turn.you strong')") is None

    asyncio.run(there())


def test_a_hostile_answer_neither_acts_nor_asks_another_host(gateway: Gateway, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: whole(HOSTILE)

    async def there() -> None:
        async with talking(gateway) as person:
            seen = person.browser.visited
            await person.say("**hi** <b>you</b>")
            said = "document.querySelector('.agent .said')"
            assert await person.run("document.title") == "Ada"
            assert (
                await person.run(
                    f"{said}.querySelectorAll('script, img, style, form, iframe, [style], [onerror]').length"
                )
                == 0
            )
            hrefs = await person.run(f"[...{said}.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
            written = ["https://evil.example/leak.png", "https://ok.example/", "https://evil.example/"]
            assert [href for href in hrefs if href] == written  # to follow, if the reader likes
            assert "<script>" in await person.run(f"{said}.innerText")  # as it was written
            assert (await person.turns())[0] == ["you", "**hi** <b>you</b>"]
            again = await person.look()
            for visit in (seen, again):
                assert [url for url in visit.requests if not url.startswith(gateway.public)] == []
                assert visit.complaints == []
            assert await person.run("document.title") == "Ada"

    asyncio.run(there())


@pytest.mark.parametrize(
    "text",
    ["word " * 210_000, "> " * 30_000, "|a" * 8_000 + "\n" + "|-" * 8_000 + "\n" + "|b" * 8_000, "*a **b " * 9_000],
)
def test_no_answer_hangs_the_page(gateway: Gateway, bridge: BridgeDouble, text: str) -> None:
    bridge.turn = lambda _: [
        *({"type": "delta", "text": text[at : at + 4096]} for at in range(0, len(text), 4096)),
        {"type": "done", "reply": text},
    ]

    async def there() -> None:
        async with talking(gateway) as person:
            await person.run(WATCH)
            await person.say("much, please")
            assert await person.run("document.querySelector('.agent .said').textContent.length") > 0
            assert await person.run("longest") < 3000
            assert await person.run("document.querySelectorAll('*').length") < 60_000
            bridge.turn = lambda _: whole("*short*")
            await person.say("less")
            assert (await person.turns())[-1] == ["agent", "short"]

    asyncio.run(there())


def test_a_text_that_takes_too_long_to_read_is_shown_as_it_is(gateway: Gateway, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: whole("*slow*")

    async def there() -> None:
        async with talking(gateway) as person:
            await person.run(NEVER)
            await person.say("hi")
            assert (await person.turns())[-1] == ["agent", "*slow*"]
            assert await person.run("ended") == 1
            await person.run("void (window.Worker = another)")
            await person.say("hi")
            assert (await person.turns())[-1] == ["agent", "slow"]

    asyncio.run(there())


def test_words_are_readable_while_they_come(gateway: Gateway, bridge: BridgeDouble) -> None:
    released = threading.Event()

    def halves(_: Turn) -> Iterable[Event]:
        yield {"type": "delta", "text": "**Look** here:\n\n```python\nprint(1)\n"}
        released.wait(15)
        yield {"type": "done", "reply": "**Look** here:\n\n```python\nprint(1)\n```\n"}

    bridge.turn = halves

    async def there() -> None:
        async with talking(gateway) as person:
            await person.begin_to_say("hi")
            await person.until("document.querySelector('.agent strong') && document.querySelector('.agent pre')")
            # Nothing is said aloud for each piece, and nothing to press comes and goes.
            assert await person.run("document.getElementById('log').getAttribute('aria-live')") == "off"
            assert await person.run("document.getElementById('announced').textContent") == ""
            assert await person.run("document.querySelectorAll('.copy').length") == 0
            released.set()
            await person.is_over()
            assert await person.run("document.querySelector('.agent .code pre').textContent") == "print(1)\n"
            assert await person.run("document.querySelectorAll('.copy').length") == 1

    asyncio.run(there())


def test_words_come_also_while_their_reader_is_still_on_its_way(gateway: Gateway, bridge: BridgeDouble) -> None:
    released = threading.Event()

    def slowly(_: Turn) -> Iterable[Event]:
        yield {"type": "delta", "text": "*one* "}
        time.sleep(1)
        yield {"type": "delta", "text": "*two*"}
        released.wait(15)
        yield {"type": "done", "reply": "*one* *two*"}

    bridge.turn = slowly

    async def there() -> None:
        async with talking(gateway) as person:
            await person.run("window.Worker = class { postMessage() {} terminate() {} }, 1")
            await person.begin_to_say("hi")
            await person.until("document.querySelector('.agent .said').textContent === '*one* *two*'")
            released.set()

    asyncio.run(there())


def test_a_stopped_turn_ends_in_the_engine_and_is_tried_again(gateway: Gateway, bridge: BridgeDouble) -> None:
    def endless(_: Turn) -> Iterable[Event]:
        while True:
            time.sleep(0.05)
            yield {"type": "delta", "text": "and "}

    bridge.turn = endless

    async def there() -> None:
        async with talking(gateway) as person:
            await person.begin_to_say("tell me")
            await person.until("document.querySelector('.agent .said').textContent.length > 10")
            await person.click("#stop")
            await person.is_over()
            assert [who for who, _ in await person.turns()] == ["you", "agent", "note"]
            assert (await person.turns())[-1][1] == ENGLISH["chat_stopped_text"]
            bridge.turn = lambda turn: whole(f"again: {turn.message}")
            await person.click(".again")
            await person.is_over()
            assert await person.turns() == [["you", "tell me"], ["agent", "again: tell me"]]
            # Whoever pressed it is still somewhere: in the box, or where fingers do not open a keyboard by that.
            assert await person.run("[box, scroller].includes(document.activeElement)")

    asyncio.run(there())
    assert [turn.session_id for turn in bridge.aborted] == [bridge.turns[1].session_id]
    assert [turn.message for turn in bridge.turns] == ["tell me", "tell me"]


def test_a_refused_key_is_told_in_words_with_the_page_that_helps(
    start_gateway: StartGateway, bridge: BridgeDouble, provider: Provider
) -> None:
    gateway = start_gateway(**PASSWORD)
    provider.answer = lambda handler: handler.whole(401, b'{"error": {"message": "Incorrect API key"}}')

    def fails(_: Turn) -> Iterable[Event]:
        gateway.call_model()
        yield {"type": "error", "hop": "engine", "message": "exit 1"}

    bridge.turn = fails

    async def there() -> None:
        async with talking(gateway) as person:
            await person.say("hi")
            who, told = (await person.turns())[-1]
            assert (who, ENGLISH["chat_reason_key_refused"] in told, "Incorrect API key" in told) == (
                "note",
                True,
                True,
            )
            link = await person.run("document.querySelector('.note a').href")
            assert link == f"{CONSOLE}/account/agents/{gateway.start.agent_id}/model-key"
            await person.click("#leave button")
            await person.look("/login")
            await person.type("[name=username]", "ada")
            await person.type("[name=password]", "correct horse")
            await person.click("button")
            await person.look("/")
            await person.say("hi")
            assert ENGLISH["chat_ask_owner"] in (await person.turns())[-1][1]
            assert await person.run("document.querySelector('.note a')") is None

    asyncio.run(there())


def test_an_agent_without_a_key_says_so_and_leads_to_the_page_for_it(start_gateway: StartGateway) -> None:
    gateway = start_gateway(llm_key=None)

    async def there() -> None:
        async with talking(gateway, width=390) as person:
            await person.until("!document.getElementById('notice').hidden")
            said = await person.run("document.getElementById('notice').innerText")
            assert ENGLISH["chat_no_key_text"] in said
            assert (await person.run("document.querySelector('#notice a').href")).endswith("/model-key")
            await person.say("hi")
            await person.look(await person.run("location.pathname + location.hash"))
            turns = await person.turns()
            assert [who for who, _ in turns] == ["you", "note"]
            assert ENGLISH["chat_no_key_text"] in turns[1][1]  # not that a connection broke off

    asyncio.run(there())
