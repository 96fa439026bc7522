"""Parts that an engine gives beside its words, in the pod's own chat. The reply itself does not change."""

from __future__ import annotations

import asyncio
import json

import pytest

from agents.pod.turns.parts import DataPart, FilePart, LinkPart, NotePart, Part, wire
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.talking import say, talking
from tests.doubles.bridge import BridgeDouble, Event
from tests.doubles.provider import ModelVendor

pytestmark = pytest.mark.unmeasured

SSE = {"Accept": "text/event-stream"}
FILE = FilePart(name="output.txt", media_type="text/plain", content=b"tck")
LINK = LinkPart(name="output.txt", media_type="text/plain", url="https://example.com/output.txt")
DATA = DataPart(value={"key": "value", "count": 42})


def given(*parts: Part, reply: str = "") -> list[Event]:
    return [*({"type": "part", "part": wire(part)} for part in parts), {"type": "done", "reply": reply}]


def test_a_reply_has_its_parts_beside_it(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: given(FILE, LINK, DATA, reply="here you are")
    answer = gateway.chat("hi", "ses_1").json()
    assert answer == {"reply": "here you are", "session_id": "ses_1", "parts": [wire(FILE), wire(LINK), wire(DATA)]}


def test_a_reply_of_text_alone_is_byte_for_byte_as_it_was_before_there_were_parts(gateway: GatewayProcess) -> None:
    body = {"message": "hi", "session_id": "ses_1"}
    assert gateway.chat("hi", "ses_1").text == '{"reply": "you said hi", "session_id": "ses_1"}'
    assert gateway.ask("POST", "/chat", json=body, headers=SSE).text == (
        'event: delta\ndata: {"text": "you said "}\n\n'
        'event: delta\ndata: {"text": "hi"}\n\n'
        'event: done\ndata: {"reply": "you said hi", "session_id": "ses_1"}\n\n'
    )


def test_parts_are_events_between_the_words(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: [{"type": "delta", "text": "here"}, *given(FILE, reply="here")]
    streamed = gateway.ask("POST", "/chat", json={"message": "hi", "session_id": "ses_1"}, headers=SSE).text
    assert streamed == (
        'event: delta\ndata: {"text": "here"}\n\n'
        f"event: part\ndata: {json.dumps(wire(FILE))}\n\n"
        'event: done\ndata: {"reply": "here", "session_id": "ses_1"}\n\n'
    )


def test_what_a_hostile_engine_gives_is_left_out_and_the_turn_goes_on(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    evil: Event = {"type": "part", "part": {**wire(LINK), "url": "javascript:alert(1)"}}
    flood = given(*[DATA] * 40, reply="done")
    bridge.turn = lambda _: [evil, {"type": "part", "part": 5}, *flood]
    answer = gateway.chat().json()
    kinds = [part["kind"] for part in answer["parts"]]
    assert (answer["reply"], kinds) == ("done", ["note", "note", *["data"] * 14, "note"])


def test_an_event_nested_too_deeply_is_the_engines_failure(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: [b'{"type": "part", "part": ' + b"[" * 100_000]
    assert gateway.chat().json()["hop"] == "engine"


@pytest.mark.parametrize("ending", ["remark", "question", "something new", 5, None])
def test_however_a_turn_ends_its_owner_reads_the_reply(
    gateway: GatewayProcess, bridge: BridgeDouble, ending: object
) -> None:
    bridge.turn = lambda _: [{"type": "done", "reply": "which one?", "ending": ending}]
    assert gateway.chat("hi", "ses_1").json() == {"reply": "which one?", "session_id": "ses_1"}


def test_an_answer_without_words_is_no_silence(
    gateway: GatewayProcess, bridge: BridgeDouble, provider: ModelVendor
) -> None:
    """If the model failed once and the engine then gave a file, that is an answer."""
    provider.answer = lambda handler: handler.whole(500, b"{}")

    def silent(*parts: Part) -> list[Event]:
        gateway.call_model()
        return given(*parts)

    bridge.turn = lambda _: silent(FILE)
    assert gateway.chat().json()["parts"] == [wire(FILE)]
    bridge.turn = lambda _: silent()
    assert gateway.chat().json()["hop"] == "model"


def test_what_was_left_out_by_the_bridge_is_told(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    note = NotePart(text="a part of the answer is left out: it is too large")
    bridge.turn = lambda _: given(note, reply="sorry")
    assert gateway.chat().json()["parts"] == [wire(note)]


@pytest.mark.browser
def test_the_page_offers_files_to_be_saved_and_shows_none(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    page = FilePart(name="page.html", media_type="text/html", content=b"<script>document.title = 'taken'</script>")
    bridge.turn = lambda _: given(page, LINK, DATA)
    shown, again, title = asyncio.run(_on_the_page(gateway))
    assert shown == [
        "page.html (text/html) page.html",  # the second name is the one for saving
        "output.txt (text/plain) https://example.com/output.txt",
        '{\n  "key": "value",\n  "count": 42\n}',
    ]
    assert "page.html (text/html)" in again  # in the conversation when it is opened again
    assert title == "Ada"


async def _on_the_page(gateway: GatewayProcess) -> tuple[list[str], str, str]:
    async with talking(gateway, width=500) as page:
        await say(page, "draw it")
        told = (
            "p => [p.textContent, p.firstElementChild?.download || p.firstElementChild?.href].filter(Boolean).join(' ')"
        )
        shown = await page.locator(".given").evaluate_all(f"all => all.map({told})")
        await page.goto("/")
        return shown, await page.locator("#log").inner_text(), await page.title()
