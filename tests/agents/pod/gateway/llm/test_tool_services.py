"""Calls of tools to the owner's services: the engine sends the pod's token, and the service gets the owner's key."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, LLM_TOKEN, GatewayProcess
from tests.doubles.provider import ModelVendor

TOOL_KEY = "tvly-key-of-the-owner-0123456789"
SEARCH = "/services/tavily/search"
SPEECH = "/services/openai/audio/speech"


@pytest.fixture
def gateway(start_gateway: StartGateway, provider: ModelVendor) -> GatewayProcess:
    urls = {"tavily": f"{provider.url}/t", "openai": f"{provider.url}/v1/"}
    return start_gateway(tool_keys={"tavily": TOOL_KEY, "openai": TOOL_KEY}, tool_urls=urls)


def test_the_token_in_headers_and_body_becomes_the_owners_key(gateway: GatewayProcess, provider: ModelVendor) -> None:
    asked = {"query": "treasure", "api_key": LLM_TOKEN}
    answer = gateway.call_model(SEARCH, json=asked, headers={"Cookie": "a=b", "X-Api-Key": LLM_TOKEN})
    assert (answer.status_code, answer.json()) == (200, {"ok": True})
    [seen] = provider.requests
    assert (seen.method, seen.target, json.loads(seen.body)) == ("POST", "/t/search", {"query": "treasure"})
    assert seen.headers["Authorization"] == f"Bearer {TOOL_KEY}"
    assert LLM_TOKEN not in str(seen.headers) + seen.body.decode()
    assert "Cookie" not in seen.headers


def test_a_body_that_shows_the_token_is_enough(gateway: GatewayProcess) -> None:
    body = {"query": "treasure", "api_key": LLM_TOKEN}
    assert gateway.call_model(SEARCH, json=body, headers={"Authorization": None}).status_code == 200


def test_a_body_of_any_kind_passes_as_it_is(gateway: GatewayProcess, provider: ModelVendor) -> None:
    sound = bytes(range(256)) * 4096
    answer = gateway.call_model("/services/openai/audio/transcriptions", json=None, files={"file": ("a.ogg", sound)})
    assert answer.status_code == 200
    [seen] = provider.requests
    assert seen.target == "/v1/audio/transcriptions"
    assert sound in seen.body
    assert seen.headers["Content-Type"].startswith("multipart/form-data; boundary=")
    assert int(seen.headers["Content-Length"]) == len(seen.body)


def test_an_answer_comes_whole_and_without_the_key(gateway: GatewayProcess, provider: ModelVendor) -> None:
    sound = bytes(range(256)) * 8192
    provider.answer = lambda handler: handler.whole(200, sound + TOOL_KEY.encode(), **{"Content-Type": "audio/mpeg"})
    answer = gateway.call_model(SPEECH, json={"input": "Ahoy"})
    assert (answer.headers["Content-Type"], answer.content[: len(sound)]) == ("audio/mpeg", sound)
    assert TOOL_KEY.encode() not in answer.content


@pytest.mark.parametrize("shown", [{"Authorization": None}, {"Authorization": "Bearer wrong"}, {"X-Api-Key": "wrong"}])
def test_whoever_does_not_show_the_pods_token_is_refused(
    gateway: GatewayProcess, provider: ModelVendor, shown: dict[str, str]
) -> None:
    assert gateway.call_model(SEARCH, json={"query": "x"}, headers=shown).status_code == 401
    assert gateway.call_model(SPEECH, json={"input": "x"}, headers=shown).status_code == 401
    assert gateway.call_model(SEARCH, json={"query": "x", "api_key": "wrong"}).status_code == 401
    assert provider.requests == []


def test_a_service_whose_key_was_not_given_is_named(start_gateway: StartGateway, provider: ModelVendor) -> None:
    gateway = start_gateway(tool_keys={"openai": TOOL_KEY}, tool_urls={"tavily": provider.url})
    answer = gateway.call_model(SEARCH, json={"query": "x"})
    assert answer.status_code == 401
    assert answer.json()["error"]["message"].startswith("this agent has no key of tavily")
    assert provider.requests == []


@pytest.mark.parametrize(
    "path",
    [
        "/services/tavily/usage",
        "/services/openai/files",
        "/services/openai/chat/completions",
        "/services/openai/audio/speech/../../files",
        "/services/openai/audio/speech%2f..%2f..%2ffiles",
        "/services/other/search",
        "/services/tavily//search",
    ],
)
def test_no_other_call_goes_out(gateway: GatewayProcess, provider: ModelVendor, path: str) -> None:
    sent = requests.Request("POST", gateway.llm, headers={"Authorization": f"Bearer {LLM_TOKEN}"}, json={}).prepare()
    sent.url = gateway.llm + path
    assert requests.Session().send(sent, timeout=10).status_code == 404
    assert gateway.call_model(SEARCH, method="GET").status_code == 404
    assert provider.requests == []


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"{", b"[" * 200_000, b"\xff", b"null"])
def test_a_body_that_is_no_object_is_refused(gateway: GatewayProcess, provider: ModelVendor, body: bytes) -> None:
    assert gateway.call_model(SEARCH, data=body).status_code == 400
    assert provider.requests == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [(b'{"api_key": "\\ud800"}', {}, 401), (b"{}", {"Content-Encoding": "gzip"}, 400)],
)
def test_an_engine_that_sends_nonsense_is_refused_and_fills_no_log(
    gateway: GatewayProcess, provider: ModelVendor, body: bytes, headers: dict[str, str], status: int
) -> None:
    assert gateway.call_model(SEARCH, data=body, headers=headers).status_code == status
    assert provider.requests == []
    assert "unexpected" not in gateway.log


def test_a_body_that_is_too_large_reaches_nobody_whole(gateway: GatewayProcess, provider: ModelVendor) -> None:
    assert gateway.call_model(SEARCH, json={"query": "x" * 300_000}).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 1_000_000

    assert gateway.call_model(SPEECH, data=pieces()).status_code == 413
    assert provider.requests == []


def test_a_refused_key_is_said_as_one_that_waiting_does_not_mend(
    gateway: GatewayProcess, provider: ModelVendor
) -> None:
    said = json.dumps({"detail": {"error": f"Unauthorized: {TOOL_KEY}"}}).encode()
    provider.answer = lambda handler: handler.whole(401, said)
    answer = gateway.call_model(SEARCH, json={"query": "x"})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("tavily refused the tool key (401): Unauthorized")
    assert TOOL_KEY not in answer.text + gateway.log


def test_a_redirect_is_not_followed(gateway: GatewayProcess, provider: ModelVendor) -> None:
    provider.answer = lambda handler: handler.whole(302, b"", Location="http://127.0.0.1:1/")
    answer = gateway.call_model(SEARCH, json={"query": "x"})
    assert (answer.status_code, len(provider.requests)) == (502, 1)


def test_a_service_that_is_away_or_breaks_off_is_named(
    gateway: GatewayProcess, start_gateway: StartGateway, provider: ModelVendor
) -> None:
    provider.answer = lambda handler: handler.cut()
    answer = gateway.call_model(SEARCH, json={"query": "x"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (502, "tavily broke off its answer")
    away = start_gateway(tool_keys={"tavily": TOOL_KEY}, tool_urls={"tavily": "http://127.0.0.1:1"})
    answer = away.call_model(SEARCH, json={"query": "x"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (502, "tavily cannot be reached")


def test_a_failing_service_says_nothing_about_the_model(gateway: GatewayProcess, provider: ModelVendor) -> None:
    provider.answer = lambda handler: handler.whole(500, b"{}")
    assert gateway.call_model(SEARCH, json={"query": "x"}).status_code == 500
    assert gateway.ask("GET", "/health").json().get("last_model_error") is None


def test_many_slow_bodies_do_not_keep_the_model_from_being_asked(gateway: GatewayProcess) -> None:
    """Each of them uses one of the places for tools, and none of the places for the model."""
    head = (
        f"POST {SEARCH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {LLM_TOKEN}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    slow = [socket.create_connection(("127.0.0.1", gateway.start.llm_port)) for _ in range(40)]
    try:
        for one in slow:
            one.sendall(head.encode())
        refused = gateway.call_model(SEARCH, json={"query": "x"})
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert gateway.call_model().status_code == 200
    finally:
        for one in slow:
            one.close()


def test_a_changed_key_is_in_force_at_once(gateway: GatewayProcess, provider: ModelVendor) -> None:
    assert gateway.configure(tool_keys={"tavily": "tvly-another"}).status_code in {200, 204}
    assert gateway.call_model(SEARCH, json={"query": "x"}).status_code == 200
    assert provider.requests[-1].headers["Authorization"] == "Bearer tvly-another"
    assert gateway.call_model(SPEECH, json={"input": "x"}).status_code == 401


def test_the_models_own_key_goes_to_no_service(gateway: GatewayProcess, provider: ModelVendor) -> None:
    gateway.call_model(SEARCH, json={"query": "x"})
    assert KEY not in str(provider.requests[0].headers)
