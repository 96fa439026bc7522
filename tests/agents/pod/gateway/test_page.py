"""The chat page as the gateway serves it: what it may load, which texts it shows, and where it leads visitors."""

from __future__ import annotations

import contextlib
import gzip
import html
import json
import re
import time
from collections.abc import Iterable
from typing import Any

import pytest
import requests

from agents.pod.gateway.pages import assets
from agents.pod.gateway.reasons import FailureReason
from agents.pod.gateway.words import WORDS
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import CONSOLE, GatewayProcess
from tests.agents.pod.gateway.visitor import HTML, PASSWORD, cookie_of, get, post
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.patience import Patience


def words_of(page: str) -> dict[str, Any]:
    found = re.search(r'data-words="([^"]*)"', page)
    assert found
    words: dict[str, Any] = json.loads(html.unescape(found[1]))
    return words


def test_the_owner_is_led_to_the_agents_page_and_others_hear_whom_to_ask(start_gateway: StartGateway) -> None:
    gateway = start_gateway(**PASSWORD)
    agent = f"{CONSOLE}/account/agents/{gateway.start.agent_id}"
    owners = words_of(get(gateway, "/", Cookie=cookie_of(gateway)).text)
    assert owners["links"] == {"agent": agent, "key": f"{agent}/model-key", "sign_in": agent}
    signed_in = post(gateway, "/login", data={"username": "ada", "password": "correct horse"})
    page = get(gateway, "/", Cookie=signed_in.headers["Set-Cookie"].partition(";")[0]).text
    assert words_of(page)["links"] == {"sign_in": "/login"}
    assert CONSOLE not in page


def test_the_page_loads_from_its_own_address_alone_and_makes_no_markup_of_texts(gateway: GatewayProcess) -> None:
    answer = get(gateway, "/", Cookie=cookie_of(gateway))
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:|\*|unsafe|data:|blob:", policy)
    assert "require-trusted-types-for 'script'" in policy
    assert answer.headers["X-DNS-Prefetch-Control"] == "off"
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', answer.text)
    assert set(loaded) <= {f"/assets/{name}" for name in assets()} | {"/dashboard"}


def test_assets_travel_packed_where_the_browser_takes_it(gateway: GatewayProcess) -> None:
    raw = {"Accept-Encoding": "identity"}
    for name in ("markdown.js", "purify.js", "chat.js"):
        with requests.get(f"{gateway.public}/assets/{name}", stream=True, timeout=10) as packed:
            assert packed.headers["Content-Encoding"] == "gzip"
            plain = get(gateway, f"/assets/{name}", **raw)
            assert gzip.decompress(packed.raw.read(decode_content=False)) == plain.content
            assert packed.headers["ETag"] == plain.headers["ETag"]


def test_an_engine_that_does_not_come_up_is_not_called_a_moment(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.phase = "failed"
    gateway.look()
    page = get(gateway, "/", **HTML)
    assert page.status_code == 503
    assert "Ada does not start" in page.text
    assert f'href="{CONSOLE}"' in page.text


def test_every_reason_has_words_in_each_language() -> None:
    for words in WORDS.values():
        told = {words[f"chat_reason_{reason}"] for reason in FailureReason}
        assert len(told) == len(FailureReason)


def test_whoever_stops_reading_on_the_page_ends_the_turn_of_the_engine(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    def endless(_: ReceivedTurn) -> Iterable[Event]:
        while True:
            time.sleep(0.05)
            yield {"type": "delta", "text": "and "}

    bridge.turn = endless
    headers = {"Accept": "text/event-stream", "Origin": gateway.public, "Cookie": cookie_of(gateway)}
    body = {"message": "hi", "session_id": "web-0123456789abcdef01234567"}
    with contextlib.closing(
        requests.post(f"{gateway.public}/chat", json=body, headers=headers, stream=True, timeout=10)
    ) as answer:
        next(answer.iter_content(10))
    patience = Patience(5)
    while not bridge.aborted and not patience.ended():
        time.sleep(0.05)
    assert [turn.session_id for turn in bridge.aborted] == [body["session_id"]]


@pytest.mark.parametrize("name", ["../pages.py", "vendor/README.md", "turn.js"])
def test_only_what_the_page_needs_is_served(gateway: GatewayProcess, name: str) -> None:
    assert get(gateway, f"/assets/{name}").status_code == 404
