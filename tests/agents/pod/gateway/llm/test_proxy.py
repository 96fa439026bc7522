"""Which calls and answers pass the key proxy."""

from __future__ import annotations

import gzip
import itertools
import json
import time

import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, LLM_TOKEN, GatewayProcess
from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer, Mood
from tests.doubles.provider import ModelVendor, ProviderHandler


@pytest.mark.parametrize(
    ("provider_id", "path", "model", "shown", "real"),
    [
        ("openai", "/v1/chat/completions", "gpt-5", "Authorization", "authorization"),
        ("openai", "/v1/responses", "gpt-5", "Authorization", "authorization"),
        ("anthropic", "/v1/messages?beta=true", "claude-opus-5-5", "x-api-key", "x-api-key"),
        ("anthropic", "/v1/messages?beta=true", "claude-opus-5-5", "Authorization", "x-api-key"),
        ("google", "/v1beta/models/g-3:streamGenerateContent?alt=sse", "g-3", "x-goog-api-key", "x-goog-api-key"),
        ("gemini", "/v1beta/models/g-3:streamGenerateContent?alt=sse", "g-3", "x-goog-api-key", "x-goog-api-key"),
        ("google", "/v1beta/openai/chat/completions", "g-3", "Authorization", "authorization"),
        ("groq", "/openai/v1/chat/completions", "openai/gpt-oss-20b", "Authorization", "authorization"),
        ("openrouter", "/api/v1/chat/completions", "z-ai/glm-5.3", "Authorization", "authorization"),
        ("mistral", "/v1/chat/completions", "mistral-small-latest", "Authorization", "authorization"),
        ("deepseek", "/chat/completions", "deepseek-flash", "Authorization", "authorization"),
        ("xai", "/v1/responses", "grok-4.3", "Authorization", "authorization"),
        ("nous", "/v1/chat/completions", "Hermes-4-70B", "Authorization", "authorization"),
    ],
)
def test_every_provider_is_called_with_the_real_key_in_its_own_header(
    start_gateway: StartGateway, provider_id: str, path: str, model: str, shown: str, real: str
) -> None:
    with ModelServer(key=KEY) as server:
        gateway = start_gateway(provider=provider_id, model=model, llm_base_url=server.base_url(provider_id))
        value = f"Bearer {LLM_TOKEN}" if shown == "Authorization" else LLM_TOKEN
        answer = gateway.call_model(
            f"/llm/{provider_id}{path}",
            headers={"Authorization": None, shown: value},
            json={"model": model, "stream": True, "messages": []},
        )
        assert (answer.status_code, "pong" in answer.text) == (200, True), answer.text
        seen = server.turns()[0]
    keys = {name for name in ("authorization", "x-api-key", "x-goog-api-key") if name in seen.headers}
    assert keys == {real}
    assert seen.key == KEY
    assert LLM_TOKEN not in json.dumps(seen.headers) + json.dumps(seen.query)
    assert ("beta" in seen.query) is ("beta=true" in path)
    assert seen.path == server.base_url(provider_id).partition(str(server.port))[2].rstrip("/") + _tail(path)


def _tail(path: str) -> str:
    """The path below the version prefix. The SDKs' base URLs contain the prefix itself, except Anthropic's."""
    bare = path.partition("?")[0]
    for prefix in ("/openai/v1", "/api/v1", "/v1beta"):
        bare = bare.removeprefix(prefix)
    return bare if bare == "/v1/messages" else bare.removeprefix("/v1")


def test_googles_key_option_is_checked_and_dropped(start_gateway: StartGateway, provider: ModelVendor) -> None:
    gateway = start_gateway(provider="google", model="g-3", llm_base_url=f"{provider.url}/v1beta")
    path = "/llm/google/v1beta/models/g-3:generateContent?alt=sse&key="
    wrong = gateway.call_model(path + "wrong", headers={"Authorization": None}, json={})
    right = gateway.call_model(path + LLM_TOKEN, headers={"Authorization": None}, json={})
    assert (wrong.status_code, right.status_code) == (401, 200)
    assert [request.target for request in provider.requests] == ["/v1beta/models/g-3:generateContent?alt=sse"]
    assert provider.requests[0].headers["x-goog-api-key"] == KEY


def test_the_body_arrives_as_it_was_sent(gateway: GatewayProcess, provider: ModelVendor) -> None:
    body = b'{ "model":"gpt-5",  "input": "\xd0\xb4\xd0\xb0" }'
    gateway.call_model(data=body, headers={"Content-Type": "application/json", "X-Custom": "kept"})
    seen = provider.requests[0]
    assert (seen.body, seen.headers["X-Custom"]) == (body, "kept")
    assert seen.headers["Content-Length"] == str(len(body))
    assert seen.headers["Content-Type"] == "application/json"


def test_a_packed_body_arrives_unpacked(gateway: GatewayProcess, provider: ModelVendor) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    gateway.call_model(data=gzip.compress(b'{"model": "gpt-5"}'), headers=headers)
    assert provider.requests[0].body == b'{"model": "gpt-5"}'
    assert "Content-Encoding" not in provider.requests[0].headers


def test_events_pass_the_moment_they_come(start_gateway: StartGateway) -> None:
    with ModelServer() as server:
        server.mood, server.pause, server.reply = Mood.SLOW, 0.3, "one two three four"
        gateway = start_gateway(llm_base_url=server.base_url("openai"))
        started = time.monotonic()
        answer = gateway.call_model("/llm/openai/v1/chat/completions", stream=True)
        lines = answer.iter_lines(chunk_size=1)
        arrived = [time.monotonic() - started for line in lines if b'"content"' in line]
    assert len(arrived) == 4
    assert arrived[0] < 0.8
    assert all(later - sooner > 0.2 for sooner, later in itertools.pairwise(arrived))


def test_an_engine_that_hangs_up_frees_the_provider(fresh: GatewayProcess, provider: ModelVendor) -> None:
    def endless(handler: ProviderHandler) -> None:
        handler.begin()
        while True:
            handler.say(b"data: more\n\n")
            time.sleep(0.05)

    provider.answer = endless
    with fresh.call_model(stream=True) as answer:
        next(answer.iter_content(5))
    assert provider.hung_up.wait(5)
    summary = fresh.ask("GET", "/health").json()["model"]
    assert (summary["calls"], summary["last_failure"]) == (1, None)


def test_a_stream_that_breaks_off_never_looks_complete(gateway: GatewayProcess, provider: ModelVendor) -> None:
    def cut(handler: ProviderHandler) -> None:
        handler.begin()
        handler.say(b"data: one\n\n")
        handler.cut()

    provider.answer = cut
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        gateway.call_model()
    assert gateway.ask("GET", "/health").json()["model"]["last_failure"]["message"] == "openai broke off its answer"


def test_looking_around_with_get_is_allowed(fresh: GatewayProcess, provider: ModelVendor) -> None:
    assert fresh.call_model("/llm/openai/v1/models", method="GET").status_code == 200
    assert [request.target for request in provider.requests] == ["/v1/models"]
    provider.answer = lambda handler: handler.whole(404, b"{}")
    assert fresh.call_model("/llm/openai/v1/models/x", method="GET").status_code == 404
    assert fresh.ask("GET", "/health").json()["model"]["last_failure"] is None


@pytest.mark.parametrize(
    ("status", "answered"), [(401, 400), (403, 400), (404, 404), (429, 429), (500, 500), (529, 529)]
)
def test_refusals_of_the_provider_are_remembered_with_its_words(
    gateway: GatewayProcess, provider: ModelVendor, status: int, answered: int
) -> None:
    body = json.dumps({"error": {"message": "no\nthank you", "code": 1}}).encode()
    provider.answer = lambda handler: handler.whole(status, body, Retry_After="7")
    answer = gateway.call_model()
    assert answer.status_code == answered
    if status not in {401, 403}:
        assert (answer.json(), answer.headers["Retry-After"]) == (json.loads(body), "7")
    failure = gateway.ask("GET", "/health").json()["model"]["last_failure"]
    assert failure["status"] == status
    assert failure["message"].endswith(f"({status}): no thank you" if answered == 400 else f" {status}: no thank you")


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (True, "anthropic answered 404: no; the operator's server for anthropic must take POST /v1/messages"),
        (False, "anthropic answered 404: no"),
    ],
)
def test_a_server_of_the_operators_that_lacks_the_call_is_told_which(
    start_gateway: StartGateway, provider: ModelVendor, own: bool, said: str
) -> None:
    """Such a server may only speak chat completions, while the engine speaks messages."""
    provider.answer = lambda handler: handler.whole(404, b'{"error": {"message": "no"}}')
    gateway = start_gateway(
        provider="anthropic", model="claude-opus-5-5", llm_base_url=provider.url, own_model_server=own
    )
    body = {"model": "claude-opus-5-5", "messages": []}
    assert gateway.call_model("/llm/anthropic/v1/messages?beta=true", json=body).status_code == 404
    assert gateway.ask("GET", "/health").json()["model"]["last_failure"]["message"] == said


@pytest.mark.parametrize(
    ("base", "status", "said"),
    [
        ("http://127.0.0.1:9/v1", 502, "openai cannot be reached"),
        ("http://nowhere.invalid/v1", 502, "openai cannot be reached"),
        ("ftp://127.0.0.1/v1", 502, "the provider's base URL is not an http address"),
    ],
)
def test_a_provider_that_is_not_there_is_a_clear_answer(
    start_gateway: StartGateway, base: str, status: int, said: str
) -> None:
    answer = start_gateway(llm_base_url=base).call_model()
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, said)


def test_calls_are_counted(fresh: GatewayProcess) -> None:
    for _ in range(3):
        fresh.call_model()
    fresh.call_model(json={"model": "another"})
    assert fresh.ask("GET", "/health").json()["model"]["calls"] == 3


def test_a_new_key_and_provider_are_used_from_the_next_call_on(
    fresh: GatewayProcess, provider: ModelVendor, bridge: BridgeDouble
) -> None:
    fresh.call_model()
    fresh.configure(provider="anthropic", model="claude-x", llm_key="sk-ant-9", llm_base_url=provider.url)
    assert fresh.call_model().status_code == 403
    answer = fresh.call_model("/llm/anthropic/v1/messages", json={"model": "claude-x"})
    assert answer.status_code == 200
    assert provider.requests[-1].headers["x-api-key"] == "sk-ant-9"
    assert bridge.configs[0]["provider"] == "anthropic"
