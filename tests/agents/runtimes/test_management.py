"""The control plane's client with gateways that give wrong answers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agents.pod.gateway.tls import server_context
from agents.pod.turns.events import Delta, Done, PartGiven
from agents.pod.turns.failures import HopFailure
from agents.pod.turns.parts import DataPart, NotePart
from agents.runtimes import management, pod_logs
from agents.runtimes.base import Endpoint, Identity, RuntimeFailure
from agents.runtimes.management import GatewayHealth
from config import callers
from config.callers import Caller
from tests.agents.runtimes.conftest import ACCESS, IDENTITY, MANAGEMENT_TOKEN, pod_spec
from tests.ports import free_port

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def gateway(answer: Answer, identity: Identity = IDENTITY) -> Iterator[tuple[Endpoint, list[BaseHTTPRequestHandler]]]:
    """A gateway that gives this answer, and the requests that it got."""
    asked: list[BaseHTTPRequestHandler] = []

    class ManagementHandler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append(self)
            answer(self)

        do_GET = do_PUT = do_POST = handle_any  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), ManagementHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.socket = server_context(identity).wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.server_address[1]}"
    try:
        yield Endpoint(public_url=url, management_url=url), asked
    finally:
        server.shutdown()
        server.server_close()


def raw(status: int, body: bytes, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def chat(endpoint: Endpoint) -> management.ChatReply:
    return management.chat(endpoint, ACCESS, message="hello", session_id="s")


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
    with gateway(raw(200, b'{"reply": "' + b"x" * 100_000 + b'"}')) as (endpoint, _), pytest.raises(HopFailure):
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


def drip(before: bytes) -> Answer:
    """Send `before`, and then single bytes for ever."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            request.wfile.write(before)
            while True:
                request.wfile.write(b"x")
                time.sleep(0.05)

    return answer


LINE = b"HTTP/1.1 200 OK\r\n"
LOG = LINE + b"Log-Life: abcdefgh\r\nLog-Base: 0\r\nContent-Length: 60000\r\n\r\n"


@pytest.mark.parametrize(
    "before",
    [b"HTTP/1.1 200 ", LINE + b"X-More: ", LINE + b"Content-Length: 60000\r\n\r\n", LINE + b"\r\n{", LOG],
    ids=["status", "header", "body", "body without a length", "log"],
)
def test_a_gateway_that_answers_byte_by_byte_is_given_up_in_time(
    before: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_logs, "TAIL_SECONDS", 0.5)
    ask = (
        partial(pod_logs.tail, size=100_000, life="", end=0)
        if before == LOG
        else partial(management.health, seconds=0.5)
    )
    with gateway(drip(before)) as (endpoint, _):
        began = time.monotonic()
        with pytest.raises(HopFailure) as failure:
            ask(endpoint, ACCESS)
        assert failure.value.hop == "gateway"
        assert time.monotonic() - began < 10


def test_a_turn_that_comes_byte_by_byte_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "TURN_SECONDS", 0.5)
    with gateway(drip(LINE + b'Content-Type: application/x-ndjson\r\n\r\n{"type": "')) as (endpoint, _):
        assert come(endpoint) == [None, BROKEN_OFF]


def test_redirects_are_not_followed() -> None:
    with gateway(raw(302, b"{}", Location="http://127.0.0.1:9/stolen")) as (endpoint, asked):
        with pytest.raises(HopFailure):
            management.health(endpoint, ACCESS)
        assert len(asked) == 1


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with gateway(raw(200, b'{"reply": "", "session_id": "s"}')) as (endpoint, _):
        assert chat(endpoint).reply == ""


def test_a_configuration_that_is_not_taken_is_a_failure_of_the_runtime() -> None:
    spec = pod_spec()
    answer = raw(503, b'{"message": "config: the bridge does not answer"}')
    with gateway(answer) as (endpoint, _), pytest.raises(RuntimeFailure) as failure:
        management.configure(endpoint, ACCESS, config=spec.config, secrets=spec.secrets)
    assert "the bridge does not answer" in str(failure.value)
    assert not failure.value.permanent


def test_health_is_told_as_it_is() -> None:
    body = b'{"revision": 3, "has_key": true, "engine": {"phase": "ready"}, "more": 1}'
    with gateway(raw(200, body)) as (endpoint, asked):
        health = management.health(endpoint, ACCESS)
        assert asked[0].headers["Authorization"] == f"Bearer {MANAGEMENT_TOKEN}"
    assert (health.revision, health.has_key, health.engine) == (3, True, {"phase": "ready"})
    assert health.bridge_bytes is None  # a gateway of an earlier release does not report its memory


def test_what_the_bridge_takes_is_told_and_is_no_news_by_itself() -> None:
    def told(size: str) -> GatewayHealth:
        body = f'{{"revision": 3, "has_key": true, "engine": {{"phase": "ready", "bridgeBytes": {size}}}}}'
        with gateway(raw(200, body.encode())) as (endpoint, _):
            return management.health(endpoint, ACCESS)

    assert told("41943040").bridge_bytes == 41943040
    assert told("41943040") == told("42991616")
    assert told('"many"').bridge_bytes is None


BROKEN_OFF = ("gateway", "the pod's gateway broke off")


def come(endpoint: Endpoint) -> list[object]:
    """What a turn's iterator gives; a failure as its hop and its message."""
    came: list[object] = []
    try:
        came.extend(management.chat_events(endpoint, ACCESS, message="hello", session_id=None))
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


def cut(stream: bytes, size: int) -> Answer:
    """Send the stream in pieces of so many bytes, each in a TLS record of its own, and then close the connection."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(LINE + b"Content-Type: application/x-ndjson\r\nConnection: close\r\n\r\n")
        for start in range(0, len(stream), size):
            request.wfile.write(stream[start : start + size])
        request.close_connection = True

    return answer


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
        assert chat(endpoint) == management.ChatReply("x", "s")


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
        next(management.chat_events(endpoint, ACCESS, message="hello", session_id=None))
    assert failure.value.hop == "engine"


def test_no_secret_shows_in_a_representation() -> None:
    assert "management-token" not in repr(pod_spec())
    assert "sk-the-real-key" not in repr(pod_spec())


@pytest.mark.parametrize("streamed", [False, True])
def test_a_turn_ends_when_the_client_that_waits_for_it_hangs_up(*, streamed: bool) -> None:
    over = threading.Event()

    def think(request: BaseHTTPRequestHandler) -> None:
        if streamed:
            request.send_response(200)
            request.end_headers()
        caller.leave()
        over.wait(30)

    caller = Caller(on_wait=lambda: None)
    token = callers.caller.set(caller)
    try:
        with gateway(think) as (endpoint, asked):
            try:
                if streamed:
                    assert come(endpoint) == [None, BROKEN_OFF]
                else:
                    with pytest.raises(HopFailure):
                        chat(endpoint)
            finally:
                over.set()
            assert len(asked) == 1
    finally:
        callers.caller.reset(token)
