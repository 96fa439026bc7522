"""One POST to misbehaving receivers, in addition to the cases 99 to 104. The time limit is shortened."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.doubles.certificates import Certificates
from tests.doubles.receiver import Receiver, hang, raw, status
from webhooks import sender
from webhooks.deliveries import AttemptResult
from webhooks.models import Problem
from webhooks.sender import Sender

LIMIT_SECONDS = 0.6
PATIENT_SECONDS = 10.0  # for tests that are not about the time limit


def post(url: str, *, seconds: float = PATIENT_SECONDS) -> AttemptResult:
    async def once() -> AttemptResult:
        async with Sender(lookups=4, seconds=seconds) as one:
            return await one.post(url, headers={"X-Test": "1"}, body=b'{"a":1}')

    return asyncio.run(once())


@pytest.mark.parametrize("code", [200, 201, 202, 204, 206, 299])
def test_any_2xx_is_a_success(receiver: Receiver, code: int) -> None:
    receiver.answers(status(code))
    answer = post(receiver.url)
    assert (answer.ok, answer.status, answer.problem) == (True, code, None)


@pytest.mark.parametrize("code", [300, 304, 400, 401, 404, 410, 429, 500, 503])
def test_any_other_status_is_a_failure_with_that_status(receiver: Receiver, code: int) -> None:
    receiver.answers(status(code))
    answer = post(receiver.url)
    assert (answer.ok, answer.status, answer.problem) == (False, code, None)


def test_the_real_limit_is_ten_seconds() -> None:
    assert sender.TOTAL_SECONDS == 10


@pytest.mark.parametrize(
    "behaviour",
    [
        hang,
        raw(b"HTTP/1.1 200 OK\r\n", *[b"X-Drip: 1\r\n"] * 100, pause=0.2),
    ],
    ids=["hangs", "drips header lines"],
)
def test_a_receiver_that_takes_too_long_is_left_at_the_limit(receiver: Receiver, behaviour: Any) -> None:
    receiver.answers(behaviour)
    answer = post(receiver.url)
    assert (answer.status, answer.problem) == (None, Problem.TIMEOUT)
    assert answer.seconds >= LIMIT_SECONDS


@pytest.mark.parametrize(
    "behaviour",
    [
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n"] * 50, pause=0.2),
        status(200, "Content-Encoding: gzip", body=b"this is no gzip"),
    ],
    ids=["a body without end", "broken gzip"],
)
def test_the_body_of_an_answer_is_never_waited_for(receiver: Receiver, behaviour: Any) -> None:
    receiver.answers(behaviour)
    assert post(receiver.url, seconds=5).ok


FLOODS = {
    "many 103": raw(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, repeat=True),
    "long 103": raw(b"HTTP/1.1 103 Early Hints\r\n" + b"Link: </a>\r\n" * 120 + b"\r\n", repeat=True),
    "many 100": raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, repeat=True),
    "empty lines": raw(b"\r\n" * 1000, repeat=True),
    "header lines": raw(b"HTTP/1.1 200 OK\r\n", *[b"X-Flood: 1\r\n" * 100] * 1000),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_receiver_that_floods_us_before_it_answers_is_left_at_once(receiver: Receiver, flood: str) -> None:
    receiver.answers(FLOODS[flood])
    answer = post(receiver.url, seconds=60)
    assert (answer.status, answer.problem) == (None, Problem.PROTOCOL)
    assert answer.seconds < sender.TOTAL_SECONDS


def test_a_flood_over_tls_is_left_too(loopback: None, trusted: Certificates) -> None:
    with Receiver(tls=trusted.server("localhost"), host="localhost").listening() as secured:
        secured.answers(FLOODS["many 103"])
        answer = post(secured.url, seconds=60)
    assert (answer.status, answer.problem) == (None, Problem.PROTOCOL)


def test_a_receiver_may_send_hints_many_headers_and_a_long_body(receiver: Receiver) -> None:
    hints = b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 10
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (number, b"a" * 500) for number in range(60))
    receiver.answers(raw(hints + head + b"Content-Length: 5000000\r\n\r\n" + b"x" * 5_000_000))
    assert post(receiver.url).ok


@pytest.mark.parametrize(
    "behaviour",
    [
        raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
        raw(b""),
    ],
    ids=["not HTTP", "closes at once"],
)
def test_a_receiver_that_speaks_no_http_is_a_protocol_failure(receiver: Receiver, behaviour: Any) -> None:
    receiver.answers(behaviour)
    assert post(receiver.url, seconds=5).problem == Problem.PROTOCOL


def test_a_closed_port_is_a_connection_failure(loopback: None) -> None:
    with Receiver().listening() as gone:
        url = gone.url
    assert post(url).problem == Problem.CONNECT


def test_a_name_that_does_not_resolve_is_a_dns_failure(names: dict[str, list[str]]) -> None:
    assert post("http://nowhere.example/").problem == Problem.DNS


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "mapped.example", "mixed.example"])
def test_a_private_address_is_refused_before_a_packet_is_sent(
    receiver: Receiver, names: dict[str, list[str]], settings: Any, host: str
) -> None:
    settings.WEBHOOK_ALLOWED_CIDRS = []
    names["localhost"] = ["127.0.0.1"]
    names["mapped.example"] = ["::ffff:127.0.0.1"]
    names["mixed.example"] = ["127.0.0.1", "8.8.8.8"]
    answer = post(f"http://{host}:{receiver.port}/")
    assert (answer.status, answer.problem) == (None, Problem.ADDRESS_REFUSED)
    assert receiver.connections == 0


def test_only_the_allowed_answer_of_a_name_is_dialled(receiver: Receiver, names: dict[str, list[str]]) -> None:
    names["localhost"] = ["::1", "127.0.0.1"]
    assert post(f"http://localhost:{receiver.port}/").ok


def test_each_delivery_has_a_connection_of_its_own(receiver: Receiver) -> None:
    async def twice() -> None:
        async with Sender(lookups=4) as one:
            for _ in range(2):
                assert (await one.post(receiver.url, headers={}, body=b"")).ok

    asyncio.run(twice())
    assert receiver.connections == 2


def test_cookies_of_one_receiver_are_not_sent_again(receiver: Receiver) -> None:
    async def twice() -> None:
        async with Sender(lookups=4) as one:
            receiver.answers(status(204, "Set-Cookie: a=b"))
            for _ in range(2):
                await one.post(receiver.url, headers={}, body=b"")

    asyncio.run(twice())
    assert receiver.received[1].header("Cookie") is None


def test_a_mistake_of_our_own_is_an_outcome_too(receiver: Receiver) -> None:
    async def wrongly() -> AttemptResult:
        async with Sender(lookups=1) as one:
            return await one.post(receiver.url, headers={"X-Test": 5}, body=b"")  # type: ignore[dict-item]  # on purpose

    assert asyncio.run(wrongly()).problem == Problem.INTERNAL
