"""The control plane's client with gateways that give wrong answers."""

from __future__ import annotations

import socket
import time
from functools import partial

import pytest

from agents.pod.turns.failures import HopFailure
from agents.runtimes import management, pod_logs
from agents.runtimes.base import Endpoint, RuntimeFailure
from agents.runtimes.management import GatewayHealth
from tests.agents.runtimes.conftest import ACCESS, MANAGEMENT_TOKEN, pod_spec
from tests.agents.runtimes.odd_gateway import LINE, drip, gateway, raw
from tests.ports import free_port


@pytest.mark.sampled
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"text"', b"\xff\xfe", b"{}"])
def test_an_answer_that_is_no_object_is_the_gateways_failure(body: bytes) -> None:
    with gateway(raw(200, body)) as (endpoint, _), pytest.raises(HopFailure) as failure:
        management.health(endpoint, ACCESS)
    assert failure.value.hop == "gateway"


def test_an_endless_answer_is_cut_off() -> None:
    answer = raw(200, b'{"revision": "' + b"x" * management.MAX_REPLY_BYTES + b'"}')
    with gateway(answer) as (endpoint, _), pytest.raises(HopFailure, match="answered more than"):
        management.health(endpoint, ACCESS)


def test_a_gateway_that_is_not_there_is_the_gateways_failure() -> None:
    url = f"https://127.0.0.1:{free_port()}"
    with pytest.raises(HopFailure) as failure:
        management.health(Endpoint(public_url=url, management_url=url), ACCESS)
    assert failure.value.hop == "gateway"


def test_a_gateway_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(HopFailure) as failure:
            management.health(Endpoint(public_url=url, management_url=url), ACCESS)
    assert "did not answer" in failure.value.message


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


def test_redirects_are_not_followed() -> None:
    with gateway(raw(302, b"{}", Location="http://127.0.0.1:9/stolen")) as (endpoint, asked):
        with pytest.raises(HopFailure):
            management.health(endpoint, ACCESS)
        assert len(asked) == 1


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with gateway(raw(200, b'{"revision": 3, "has_key": true}')) as (endpoint, _):
        assert management.health(endpoint, ACCESS).revision == 3


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


def test_no_secret_shows_in_a_representation() -> None:
    assert "management-token" not in repr(pod_spec())
    assert "sk-the-real-key" not in repr(pod_spec())
