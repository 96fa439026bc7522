"""Requests that an engine may send to a model: only for the configured model, and large bodies in little memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.doubles.provider import ModelVendor

pytestmark = pytest.mark.unmeasured

MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}
PICTURE = "A" * (31 * MIB)


def chunks(raw: bytes, size: int = 64 * 1024) -> Iterator[bytes]:
    return (raw[at : at + size] for at in range(0, len(raw), size))


@pytest.mark.parametrize("body", [{"model": "gpt-5-pro"}, {"model": 5}, {"model": "gpt-5", "models": ["o9"]}])
def test_another_model_is_refused_with_a_final_400(
    gateway: GatewayProcess, provider: ModelVendor, body: object
) -> None:
    answer = gateway.call_model(json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "model: this agent is configured only for 'gpt-5'"
    assert provider.requests == []


def test_another_google_model_is_refused_by_its_path(start_gateway: StartGateway, provider: ModelVendor) -> None:
    gateway = start_gateway(provider="google", model="g-3")
    path = "/llm/google/v1beta/models/{}:streamGenerateContent?alt=sse"
    assert gateway.call_model(path.format("g-9"), json={}).status_code == 400
    assert gateway.call_model(path.format("g-3"), json={}).status_code == 200
    assert len(provider.requests) == 1


def test_without_a_configured_model_every_model_passes(start_gateway: StartGateway) -> None:
    gateway = start_gateway(model=None)
    assert gateway.call_model(json={"model": "whatever"}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "gpt-5", "model": "o9"}',
        b'{"model": "o9", "model": "gpt-5"}',
        b'{"model": "gpt-5", "mod\\u0065l": "gpt-5"}',
        b'{"model": "gpt-5", "Model": "o9"}',
        b'{"models": ["gpt-5"], "model" : "gpt-5", "models": ["o9"]}',
    ],
)
def test_a_model_that_is_named_twice_is_refused(gateway: GatewayProcess, provider: ModelVendor, body: bytes) -> None:
    """Some parsers take the first name, others the last."""
    answer = gateway.call_model(data=body, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["message"][-12:]) == (400, " comes twice")
    assert provider.requests == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": ',
        b"[]",
        b"no json",
        b"",
        b'{"model": "gpt-5"} {"model": "o9"}',
        b'{"x": 1 /* "model": "gpt-5" */, "model": "o9"}',
        b'{\'x\': \'"\', "model": "gpt-5"}',
        b'\xef\xbb\xbf{"model": "gpt-5"}',
        '{"model": "o9"}'.encode("utf-16"),
        b'{"model": "gpt-5",}',
        b'{"x": "a\nb", "model": "gpt-5"}',
        b'{"x": [1, "\\',
        b'{"' + b"m" * 10_000 + b'": 1}',
        b"{" + b",".join(b'"%d": 1' % number for number in range(300)) + b"}",
        b'{"model": "' + b"g" * 100_000 + b'"}',
    ],
)
def test_a_body_that_the_provider_might_read_differently_is_refused(
    gateway: GatewayProcess, provider: ModelVendor, body: bytes
) -> None:
    answer = gateway.call_model(data=body or b" ", headers=JSON)
    assert (answer.status_code, answer.json()["error"]["message"][:6]) == (400, "body: ")
    assert provider.requests == []


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/json; charset=utf-7", "multipart/form-data; boundary=x", ""]
)
def test_a_body_of_another_kind_is_refused(gateway: GatewayProcess, provider: ModelVendor, content_type: str) -> None:
    answer = gateway.call_model(data=b'{"model": "gpt-5"}', headers={"Content-Type": content_type})
    assert answer.status_code == 415
    assert provider.requests == []


def test_a_body_may_nest_as_deeply_as_it_likes(gateway: GatewayProcess, provider: ModelVendor) -> None:
    body = b'{"model": "gpt-5", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    assert gateway.call_model(data=body, headers=JSON).status_code == 200
    assert provider.requests[0].body == body


@pytest.mark.parametrize("model_comes", ["first", "last"])
@pytest.mark.parametrize("chunked", [False, True], ids=["whole", "chunked"])
def test_a_large_body_arrives_as_it_was_sent(
    gateway: GatewayProcess, provider: ModelVendor, model_comes: str, chunked: bool
) -> None:
    body = {"model": "gpt-5", "input": PICTURE[: 3 * MIB]}
    raw = json.dumps(body if model_comes == "first" else dict(reversed(body.items()))).encode()
    assert gateway.call_model(data=chunks(raw) if chunked else raw, headers=JSON).status_code == 200
    seen = provider.requests[0]
    assert seen.body == raw
    assert seen.headers["Content-Length"] == (None if chunked else str(len(raw)))


@pytest.mark.parametrize("chunked", [False, True], ids=["whole", "chunked"])
def test_the_end_of_a_large_body_with_another_model_never_reaches_the_provider(
    gateway: GatewayProcess, provider: ModelVendor, chunked: bool
) -> None:
    raw = json.dumps({"input": PICTURE[: 3 * MIB], "model": "o9"}).encode()
    answer = gateway.call_model(data=chunks(raw) if chunked else raw, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["message"][:6]) == (400, "model:")
    assert provider.broken_off.wait(5)
    assert provider.requests == []


def test_a_large_body_that_breaks_off_never_reaches_the_provider_whole(
    gateway: GatewayProcess, provider: ModelVendor
) -> None:
    def broken() -> Iterator[bytes]:
        yield b'{"model": "gpt-5", "input": "' + b"A" * MIB
        raise ConnectionError

    with contextlib.suppress(requests.ConnectionError, ConnectionError):
        gateway.call_model(data=broken(), headers=JSON)
    assert provider.broken_off.wait(5)
    assert provider.requests == []


def test_a_large_packed_body_arrives_unpacked(gateway: GatewayProcess, provider: ModelVendor) -> None:
    raw = json.dumps({"model": "gpt-5", "input": PICTURE[: 3 * MIB]}).encode()
    headers = {**JSON, "Content-Encoding": "gzip"}
    assert gateway.call_model(data=gzip.compress(raw), headers=headers).status_code == 200
    assert provider.requests[0].body == raw


def test_a_body_beyond_the_limit_is_refused(gateway: GatewayProcess, provider: ModelVendor) -> None:
    too_much = b'{"model": "gpt-5", "input": "' + b" " * (33 * MIB) + b'"}'
    for data in (too_much, chunks(too_much)):
        # The connection may also be closed while the body is still being sent.
        with contextlib.suppress(requests.ConnectionError):
            assert gateway.call_model(data=data, headers=JSON).status_code == 413
    assert provider.requests == []


def test_many_bodies_of_32_mib_at_once_need_little_memory(start_gateway: StartGateway, provider: ModelVendor) -> None:
    fresh = start_gateway(whole=True)
    raw = json.dumps({"input": [{"role": "user", "content": PICTURE}], "model": "gpt-5"}).encode()
    objects = b'{"model": "gpt-5", "input": [' + b'{"a": 1}, ' * 500_000 + b"0]}"
    packed = gzip.compress(raw, 1)
    peak = Peak(psutil.Process(fresh.pid))
    with peak, ThreadPoolExecutor(8) as pool:
        plain = [pool.submit(fresh.call_model, data=body, headers=JSON, timeout=120) for body in [raw, objects] * 3]
        zipped = {**JSON, "Content-Encoding": "gzip"}
        others = [pool.submit(fresh.call_model, data=packed, headers=zipped, timeout=120) for _ in range(2)]
        assert {call.result().status_code for call in plain + others} == {200}
    assert len(provider.requests) == 8
    assert peak.mib < 120


class Peak:
    """The most memory that a process uses inside the `with` block, in MiB."""

    def __init__(self, process: psutil.Process) -> None:
        self.mib = 0.0
        self._process = process
        self._ended = threading.Event()
        self._watching = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            self.mib = max(self.mib, self._process.memory_info().rss / MIB)

    def __enter__(self) -> None:
        self._watching.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watching.join()
