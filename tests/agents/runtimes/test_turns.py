"""Turns with gateways that give wrong answers."""

from __future__ import annotations

import asyncio
import socket
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from agents.pod.turns.events import Delta, Done, PartGiven
from agents.pod.turns.failures import HopFailure
from agents.pod.turns.parts import DataPart, NotePart
from agents.runtimes import management, turns
from agents.runtimes.base import Endpoint
from agents.runtimes.turns import ChatReply
from tests.agents.runtimes import turn_calls
from tests.agents.runtimes.conftest import ACCESS
from tests.agents.runtimes.odd_gateway import LINE, cut, drip, gateway, raw
from tests.ports import free_port


def chat(endpoint: Endpoint) -> ChatReply:
    return turn_calls.chat(endpoint, ACCESS, message="hello", session_id="s")


def test_a_refused_turn_names_its_hop() -> None:
    answer = raw(503, b'{"hop": "model", "message": "the key is wrong"}')
    with gateway(answer) as (endpoint, _), pytest.raises(HopFailure) as failure:
        chat(endpoint)
    assert (failure.value.hop, failure.value.message) == ("model", "the key is wrong")


@pytest.mark.sampled
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"text"', b"\xff\xfe", b"{}"])
def test_an_answer_that_is_no_object_is_the_gateways_failure(body: bytes) -> None:
    with gateway(raw(200, body)) as (endpoint, _), pytest.raises(HopFailure) as failure:
        chat(endpoint)
    assert failure.value.hop == "gateway"


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "MAX_REPLY_BYTES", 1000)
    answer = raw(200, b'{"session_id": "s", "reply": "' + b"x" * 100_000 + b'"}')
    with gateway(answer) as (endpoint, _), pytest.raises(HopFailure, match="answered more than"):
        chat(endpoint)


def test_a_gateway_that_is_not_there_is_the_gateways_failure() -> None:
    url = f"https://127.0.0.1:{free_port()}"
    with pytest.raises(HopFailure) as failure:
        chat(Endpoint(public_url=url, management_url=url))
    assert failure.value.hop == "gateway"


def test_a_gateway_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(HopFailure) as failure:
            chat(Endpoint(public_url=url, management_url=url))
    assert "did not answer" in failure.value.message


def test_a_turn_that_comes_byte_by_byte_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "TURN_SECONDS", 0.5)
    with gateway(drip(LINE + b'Content-Type: application/x-ndjson\r\n\r\n{"type": "')) as (endpoint, _):
        assert come(endpoint) == [None, BROKEN_OFF]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with gateway(raw(200, b'{"reply": "", "session_id": "s"}')) as (endpoint, _):
        assert chat(endpoint).reply == ""


BROKEN_OFF = ("gateway", "the pod's gateway broke off")


def come(endpoint: Endpoint) -> list[object]:
    """What a turn's iterator gives; a failure as its hop and its message."""
    came: list[object] = []
    try:
        came.extend(turn_calls.chat_events(endpoint, ACCESS, message="hello", session_id=None))
    except HopFailure as failure:
        came.append((failure.hop, failure.message))
    return came


def events(stream: bytes, content_type: str = "application/x-ndjson") -> list[object]:
    with gateway(raw(200, stream, Content_Type=content_type)) as (endpoint, _):
        return come(endpoint)


WORDS = b"""{"type": "delta", "text": "a\\nb"}

{"type": "done", "reply": "a\\nb", "session_id": "s"}
"""


def test_events_come_as_they_were_sent() -> None:
    assert events(WORDS) == [None, Delta("a\nb"), Done("a\nb", "s")]


@pytest.mark.parametrize("size", [1, 7, 60])
def test_events_are_whole_however_the_network_cuts_them(size: int) -> None:
    with gateway(cut(WORDS, size)) as (endpoint, _):
        assert come(endpoint) == [None, Delta("a\nb"), Done("a\nb", "s")]


def test_a_line_that_does_not_end_is_not_gathered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "MAX_REPLY_BYTES", 1000)
    with gateway(cut(b'{"type": "' + b"x" * 2000, 100)) as (endpoint, _):
        assert come(endpoint) == [None, BROKEN_OFF]


def test_a_gateway_of_an_older_release_is_understood() -> None:
    """It knows server-sent events alone. Pods stay as they are when the platform is upgraded."""
    stream = (
        b': ping\n\nevent: delta\ndata: {"text": "a\\nb"}\n\nevent: part\ndata: {"kind": "data", "data": 5}\n\n'
        b'event: done\ndata: {"reply": "a\\nb", "session_id": "s"}\n\n'
    )
    answer = raw(200, stream, Content_Type="text/event-stream")
    with gateway(answer) as (endpoint, asked):
        assert come(endpoint) == [None, Delta("a\nb"), PartGiven(DataPart(value=5)), Done("a\nb", "s")]
        assert "text/event-stream" in asked[0].headers["Accept"]
    failed = b'event: error\ndata: {"hop": "model", "reason": "no_credit", "message": "no"}\n\n'
    assert events(failed, "text/event-stream") == [None, ("model", "no")]


@pytest.mark.parametrize("line", [b"{", b"5", b"[]", b"\xff", b'{"type": "delta", "text": "\\ud800"}'])
def test_a_line_that_nobody_can_read_is_overlooked(line: bytes) -> None:
    """An engine may cut a character of two halves in the middle. The whole reply comes at the end."""
    assert events(line + b"\n" + WORDS) == events(WORDS)


@pytest.mark.parametrize(
    "told", [b'{"type": "delta", "text": 5}', b'{"type": "done"}', b'{"type": "error"}', b'{"x": 1}']
)
def test_an_event_of_another_form_ends_the_turn(told: bytes) -> None:
    assert events(told + b"\n" + WORDS) == [None, BROKEN_OFF]


def test_parts_are_judged_here_too() -> None:
    """A hostile program may answer as the gateway."""
    link = b'{"kind": "link", "name": "a", "media_type": "text/html", "url": "javascript:alert(1)"}'
    data = b'{"kind": "data", "data": 5}'
    body = b'{"reply": "", "session_id": "s", "parts": [%s, %s, 5]}' % (link, data)
    with gateway(raw(200, body)) as (endpoint, _):
        first, second, third = chat(endpoint).parts
    assert (type(first), second, type(third)) == (NotePart, DataPart(value=5), NotePart)
    part = b'{"type": "part", "part": %s}\n'
    came = events(part % link + (part % data) * 20 + b'{"type": "done", "reply": "", "session_id": "s"}\n')
    started, noted, *given, done = came
    assert (started, len(given), done) == (None, 16, Done("", "s"))
    assert isinstance(noted, PartGiven)
    assert isinstance(noted.part, NotePart)
    assert given[0] == PartGiven(DataPart(value=5))


@pytest.mark.parametrize("parts", [b"null", b"5", b'"x"', b"{}"])
def test_parts_that_are_no_list_are_none(parts: bytes) -> None:
    with gateway(raw(200, b'{"reply": "x", "session_id": "s", "parts": %s}' % parts)) as (endpoint, _):
        assert chat(endpoint) == ChatReply("x", "s")


@pytest.mark.parametrize(
    ("last", "end"),
    [
        (b'{"type": "error", "hop": "model", "message": "no"}', ("model", "no")),
        (b'{"type": "error", "hop": "moon", "message": "no"}', ("gateway", "no")),
        (b'{"type": "done", "reply": "", "session_id": "s"}', Done("", "s")),
    ],
)
def test_nothing_comes_after_the_end_of_a_turn(last: bytes, end: object) -> None:
    assert events(last + b'\n{"type": "delta", "text": "late"}\n') == [None, end]


def test_a_stream_that_breaks_off_ends_with_a_failure() -> None:
    assert events(b'{"type": "delta", "text": "half"}\n')[-1] == BROKEN_OFF


def test_a_stream_that_is_refused_raises_before_the_first_event() -> None:
    with (
        gateway(raw(503, b'{"hop": "engine", "message": "dead"}')) as (endpoint, _),
        pytest.raises(HopFailure) as failure,
    ):
        next(turn_calls.chat_events(endpoint, ACCESS, message="hello", session_id=None))
    assert failure.value.hop == "engine"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_turn_ends_when_the_client_that_waits_for_it_hangs_up(*, streamed: bool) -> None:
    begun, over = threading.Event(), threading.Event()

    def think(request: BaseHTTPRequestHandler) -> None:
        if streamed:
            request.send_response(200)
            request.end_headers()
        begun.set()
        request.connection.settimeout(20)
        if not request.rfile.read(1):  # the end of the connection
            over.set()

    async def hang_up(endpoint: Endpoint) -> None:
        asking = asyncio.create_task(_come(endpoint) if streamed else _reply(endpoint))
        assert await asyncio.to_thread(begun.wait, 20)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with gateway(think) as (endpoint, asked):
        asyncio.run(hang_up(endpoint))
        assert over.wait(20)
        assert len(asked) == 1


async def _reply(endpoint: Endpoint) -> None:
    await turns.reply(endpoint, ACCESS, message="hello", session_id=None)


async def _come(endpoint: Endpoint) -> None:
    async for _ in turns.events(endpoint, ACCESS, message="hello", session_id=None):
        pass
