"""`POST /chat` of the management listener: its fields, its answers and its stream.

The control plane asks for lines of JSON. One of an older release asks for server-sent events, as the page does.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterable

import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import MANAGEMENT_TOKEN, GatewayProcess
from tests.doubles.bridge import BridgeDouble, Event, ReceivedTurn
from tests.patience import Patience

SSE = {"Accept": "text/event-stream"}
LINES = {"Accept": "application/x-ndjson, text/event-stream"}


def events(answer: requests.Response) -> list[tuple[str, dict[str, str]]]:
    blocks = [block.split("\n") for block in answer.text.split("\n\n") if block.startswith("event")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def lines(answer: requests.Response) -> list[dict[str, str]]:
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.split("\n") if line]


def test_the_control_plane_gets_a_turn_as_lines(gateway: GatewayProcess) -> None:
    asked = {"message": "hello", "session_id": "ses_1"}
    assert lines(gateway.ask("POST", "/chat", json=asked, headers=LINES)) == [
        {"type": "delta", "text": "you said "},
        {"type": "delta", "text": "hello"},
        {"type": "done", "reply": "you said hello", "session_id": "ses_1"},
    ]


def test_the_page_gets_no_lines(gateway: GatewayProcess) -> None:
    page = gateway.visitor()
    for accepted, given in (
        ("application/x-ndjson", "application/json; charset=utf-8"),
        (LINES["Accept"], SSE["Accept"]),
    ):
        answer = page.post(f"{gateway.public}/chat", json={"message": "hi"}, headers={"Accept": accepted}, timeout=10)
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, given)


def test_the_reply_is_the_engines(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    answer = gateway.chat("hello", "ses_1")
    assert (answer.status_code, answer.json()) == (200, {"reply": "you said hello", "session_id": "ses_1"})
    assert [(turn.session_id, turn.message) for turn in bridge.turns] == [("ses_1", "hello")]


def test_a_session_without_a_name_gets_one(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    named = gateway.chat().json()["session_id"]
    assert named.startswith("ses_")
    assert bridge.turns[0].session_id == named
    assert gateway.chat().json()["session_id"] != named


def test_without_a_key_the_pod_answers_but_says_nothing(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    gateway = start_gateway(llm_key=None)
    assert gateway.chat("hello", "ses_1").json() == {"reply": "", "session_id": "ses_1"}
    streamed = gateway.ask("POST", "/chat", json={"message": "hello", "session_id": "ses_1"}, headers=SSE)
    assert events(streamed) == [("done", {"reply": "", "session_id": "ses_1"})]
    assert bridge.turns == []


def test_words_are_streamed_as_they_come(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    def slowly(_: ReceivedTurn) -> Iterable[Event]:
        for word in ("one", " two", " three"):
            yield {"type": "delta", "text": word}
            time.sleep(0.3)
        yield {"type": "done", "reply": "one two three"}

    bridge.turn = slowly
    with gateway.control_plane().post(
        f"{gateway.management}/chat",
        json={"message": "count"},
        headers={**SSE, "Authorization": f"Bearer {MANAGEMENT_TOKEN}"},
        stream=True,
        timeout=10,
    ) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        lines = answer.iter_lines(chunk_size=1)
        arrived = [(line.decode(), time.monotonic()) for line in lines if line.startswith(b"event")]
    assert [name for name, _ in arrived] == ["event: delta"] * 3 + ["event: done"]
    gaps = [later - sooner for (_, sooner), (_, later) in itertools.pairwise(arrived)]
    assert min(gaps) > 0.15


def test_a_turn_that_breaks_off_is_a_failure_not_a_reply(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.turn = lambda _: [{"type": "delta", "text": "half an ans"}]
    answer = gateway.chat()
    assert (answer.status_code, answer.json()["hop"]) == (503, "engine")
    streamed = gateway.ask("POST", "/chat", json={"message": "hi"}, headers=SSE)
    assert [name for name, _ in events(streamed)] == ["delta", "error"]
    assert events(streamed)[1][1]["hop"] == "engine"
    delta, error = lines(gateway.ask("POST", "/chat", json={"message": "hi"}, headers=LINES))
    assert delta == {"type": "delta", "text": "half an ans"}
    assert error == {"type": "error", "hop": "engine", "message": "the engine broke off in the middle of the turn"}


def test_a_stream_that_fails_before_its_first_word_is_a_plain_503(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    bridge.phase = "unhealthy"
    for form in (SSE, LINES):
        answer = gateway.ask("POST", "/chat", json={"message": "hi"}, headers=form)
        assert (answer.status_code, answer.json()["hop"]) == (503, "engine")


@pytest.mark.parametrize("headers", [{}, SSE, LINES])
def test_a_caller_who_hangs_up_ends_the_turn(
    gateway: GatewayProcess, bridge: BridgeDouble, headers: dict[str, str]
) -> None:
    def endless(_: ReceivedTurn) -> Iterable[Event]:
        while True:
            time.sleep(0.1)
            yield {"type": "delta", "text": "and "}

    bridge.turn = endless
    bearer = {"Authorization": f"Bearer {MANAGEMENT_TOKEN}", **headers}
    body = {"message": "hi", "session_id": "ses_1"}
    # Without events nothing arrives, and the time-out ends the call. With events the reader hangs up after some words.
    with contextlib.suppress(requests.Timeout):
        answer = gateway.control_plane().post(
            f"{gateway.management}/chat", json=body, headers=bearer, timeout=1, stream=True
        )
        next(answer.iter_content(10))
        answer.close()
    patience = Patience(5)
    while not bridge.aborted and not patience.ended():
        time.sleep(0.05)
    assert [turn.session_id for turn in bridge.aborted] == ["ses_1"]
    bridge.turn = lambda _: [{"type": "done", "reply": "free again"}]
    assert gateway.chat("hi", "ses_1").json()["reply"] == "free again"


def test_a_long_reply_passes_whole(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    long = "длинный " * 60_000
    bridge.turn = lambda _: [{"type": "done", "reply": long}]
    assert gateway.chat().json()["reply"] == long


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": " \n"}, "message"),
        ({"message": 5}, "message"),
        ({"message": "x" * 65_537}, "message"),
        ({"message": "я" * 40_000}, "message"),
        ({"message": "hi", "session_id": ""}, "session_id"),
        ({"message": "hi", "session_id": "../../etc"}, "session_id"),
        ({"message": "hi", "session_id": "x" * 65}, "session_id"),
        ({"message": "hi", "session_id": "a.b"}, "session_id"),
        ({"message": "hi", "session_id": "-x"}, "session_id"),
        ({"message": "hi", "session_id": 5}, "session_id"),
        ([], "body"),
    ],
)
def test_wrong_fields_are_named(gateway: GatewayProcess, bridge: BridgeDouble, body: object, names: str) -> None:
    answer = gateway.ask("POST", "/chat", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(f"{names}:")
    assert bridge.turns == []


def test_half_a_character_is_refused(gateway: GatewayProcess) -> None:
    headers = {"Content-Type": "application/json"}
    answer = gateway.ask("POST", "/chat", data=rb'{"message": "\ud800"}', headers=headers)
    assert answer.status_code == 400


def test_a_message_at_the_limit_is_taken(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    assert gateway.chat("x" * 65_536).status_code == 200
    assert len(bridge.turns[0].message) == 65_536


def test_a_body_that_is_no_json_or_far_too_long_is_refused(gateway: GatewayProcess) -> None:
    text = {"Content-Type": "text/plain"}
    assert gateway.ask("POST", "/chat", data="hi", headers=text).status_code == 400
    json_type = {"Content-Type": "application/json"}
    assert gateway.ask("POST", "/chat", data="{", headers=json_type).status_code == 400
    assert gateway.ask("POST", "/chat", data="[" * 200_000, headers=json_type).status_code == 400
    assert gateway.ask("POST", "/chat", data=" " * 1_100_000, headers=json_type).status_code == 413
