"""Which calls the key proxy passes on: inference of the provider, and no other call that the key would allow."""

from __future__ import annotations

import socket

import pytest

from agents.engines.providers import PROVIDERS
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import LLM_TOKEN, GatewayProcess
from tests.doubles.provider import ModelVendor

pytestmark = pytest.mark.unmeasured

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")


def ask(gateway: GatewayProcess, head: str, *headers: str, body: str = "") -> int:
    """Send exactly these bytes. Returns the status."""
    port = gateway.start.llm_port
    given = "".join(f"{line}\r\n" for line in headers)
    text = f"{head} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {LLM_TOKEN}\r\n{given}\r\n{body}"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(text.encode("latin-1"))
        return int(connection.recv(4096).split()[1])


# The calls of the engines, as each of them writes them.
INFERENCE = {
    "openai": [
        "POST /v1/chat/completions",
        "POST /v1/responses",
        "POST /chat/completions",
        "POST /v1/embeddings",
        "GET /v1/models",
        "GET /v1/models/gpt-5",
    ],
    "anthropic": [
        "POST /v1/messages?beta=true",
        "POST /messages",
        "POST /v1/messages/count_tokens?beta=true",
        "GET /v1/models?limit=1000&after_id=claude-opus-5-5",
    ],
    "openrouter": ["POST /api/v1/chat/completions", "GET /api/v1/models/openai/gpt-oss-120b:free"],
    "google": [
        "POST /v1beta/models/g-3:streamGenerateContent?alt=sse",
        "POST /v1beta/models/g-3:generateContent",
        "POST /v1beta/models/g-3:countTokens",
        "POST /v1beta/openai/chat/completions",
        "GET /v1beta/models?pageSize=50&pageToken=Cg9tb2RlbHM%3D",
    ],
    "gemini": ["POST /v1beta/models/g-3:streamGenerateContent?alt=sse"],
    "groq": ["POST /openai/v1/chat/completions", "GET /openai/v1/models/openai/gpt-oss-20b"],
    "mistral": ["POST /v1/chat/completions"],
    "deepseek": ["POST /chat/completions", "POST /v1/chat/completions"],
    "xai": ["POST /v1/responses", "POST /v1/chat/completions"],
    "nous": ["POST /v1/chat/completions"],
}
# Other calls that the same keys allow.
MORE = {
    "anthropic": [
        "/v1/files",
        "/v1/organizations/api_keys",
        "/v1/messages/batches",
        "/v1/chat/completions",
    ],
    "openrouter": ["/api/v1/keys", "/api/v1/key", "/api/v1/credits", "/api/v1/models/openai/gpt-5/endpoints"],
    "google": [
        "/v1beta/files",
        "/v1beta/cachedContents",
        "/v1beta/tunedModels",
        "/v1beta/models/g-3:batchGenerateContent",
        "/v1beta/models/g-3:predictLongRunning",
        "/v1beta/models/g-3/operations",
        "/upload/v1beta/files",
    ],
    "gemini": ["/v1beta/corpora"],
    "groq": ["/openai/v1/batches"],
    "mistral": ["/v1/agents", "/v1/libraries"],
    "deepseek": ["/user/balance"],
    "xai": ["/v1/api-key"],
    "nous": ["/v1/keys"],
}


@pytest.mark.parametrize("provider_id", sorted(PROVIDERS))
def test_inference_is_passed_on_and_nothing_else(
    start_gateway: StartGateway, provider: ModelVendor, provider_id: str
) -> None:
    gateway = start_gateway(provider=provider_id, model="g-3")
    for method, target in (call.split() for call in INFERENCE[provider_id]):
        given = {"json": {"model": "g-3"}} if method == "POST" else {}
        answer = gateway.call_model(f"/llm/{provider_id}{target}", method=method, **given)
        assert answer.status_code == 200, answer.text
        assert provider.requests.pop().method == method
    for path in MORE.get(provider_id, []):
        for method in ("GET", "POST", "DELETE"):
            assert gateway.call_model(f"/llm/{provider_id}{path}", method=method, json={}).status_code == 404
    assert provider.requests == []


@pytest.mark.parametrize(
    "path",
    [
        "/files",
        "/files/file-1/content",
        "/v1/files",
        "/organization/admin_api_keys",
        "/organization/users",
        "/v1/dashboard/billing/subscription",
        "/fine_tuning/jobs",
        "/batches",
        "/assistants",
        "/threads/t/runs",
        "/vector_stores",
        "/containers",
        "/uploads",
        "/evals",
        "/audio/transcriptions",
        "/images/generations",
        "/videos",
        "/realtime/client_secrets",
        "/responses/resp_1",
        "/responses/resp_1/cancel",
        "/responses/resp_1/input_items",
        "/chat/completions/c1",
        "/conversations",
        "/messages",
        "/messages/batches",
        "/models/a/b/c",
        "/v1/v1/files",
        "/v1",
        "/key",
        "/admin",
    ],
)
def test_no_method_opens_what_is_no_inference(gateway: GatewayProcess, provider: ModelVendor, path: str) -> None:
    for method in METHODS:
        answer = gateway.call_model(f"/llm/openai{path}", method=method, json={"model": "gpt-5"})
        assert answer.status_code == 404
        if method != "HEAD":
            assert answer.json()["error"]["message"].startswith("path: only inference is forwarded; of openai: POST /c")
    assert provider.requests == []


@pytest.mark.parametrize("method", [method for method in METHODS if method != "POST"])
def test_a_path_of_inference_takes_its_own_method_alone(
    gateway: GatewayProcess, provider: ModelVendor, method: str
) -> None:
    answer = gateway.call_model("/llm/openai/v1/responses", method=method, json={"model": "gpt-5"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert gateway.call_model("/llm/openai/v1/models/gpt-5", method="DELETE").status_code == 405
    assert provider.requests == []


@pytest.mark.parametrize(
    "target",
    [
        "/v1/..;/files",
        "/v1/models/..;/files",
        "/v1/responses;x=1",
        "/v1/responses;/../files",
        "/v1/%66iles",
        "/v1/models/%2e%2e",
        "/v1/models/.%2e/files",
        "/v1/models/..",
        "/v1/models/.",
        "/v1/models/...",
        "/v1//files",
        "//v1/files",
        "/v1/models//",
        "/v1/models/",
        "/v1/models/x\\..\\files",
        "/v1/responses.",
        "/v1/responses%20",
        "/v1/responses%00",
        "/v1/responses/",
        "/V1/responses",
        "/v1/Responses",
        "/v1/models/x~",
        "/v1/models/x%3Fy",
        "/v1/responses#/../files",
        "/v1/responses%23",
        "/v1/models/http://evil.example/",
        "/v1/models/x@evil.example/..",
        "/v1/models/\xff",
    ],
)
def test_no_spelling_of_a_path_gets_around_that(gateway: GatewayProcess, provider: ModelVendor, target: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        assert ask(gateway, f"{method} /llm/openai{target}", "Content-Length: 0") in {400, 403, 404, 405}
    assert provider.requests == []


@pytest.mark.parametrize(
    "query", ["organization=x", "alt=media", "$httpMethod=DELETE", "_method=DELETE", "fields=*", "callback=x",
              "purpose=assistants", "beta=true&order=asc", "ALT=sse", "x"]
)  # fmt: skip
def test_only_the_query_of_inference_is_passed_on(gateway: GatewayProcess, provider: ModelVendor, query: str) -> None:
    answer = gateway.call_model(f"/llm/openai/v1/responses?{query}")
    assert (answer.status_code, answer.json()["error"]["message"][:6]) == (400, "query:")
    assert provider.requests == []


def test_a_method_that_a_header_names_is_not_the_method(gateway: GatewayProcess, provider: ModelVendor) -> None:
    headers = {"X-HTTP-Method-Override": "DELETE", "X-HTTP-Method": "DELETE"}
    assert gateway.call_model(headers=headers).status_code == 200
    assert provider.requests[0].method == "POST"
    assert not set(headers) & set(provider.requests[0].headers)


@pytest.mark.parametrize(
    ("head", "headers", "body"),
    [
        ("GET http://evil.example/v1/models", (), ""),
        ("CONNECT api.openai.com:443", (), ""),
        ("POST /llm/openai/v1/responses", ("Content-Length: 4", "Transfer-Encoding: chunked"), "0\r\n\r\n"),
        ("POST /llm/openai/v1/responses", ("Content-Length: 2", "Content-Length: 40"), "{}"),
        ("POST /llm/openai/v1/responses", ("Transfer-Encoding: chunked, identity",), "0\r\n\r\n"),
        ("POST /llm/openai/v1/responses", ("Transfer-Encoding : chunked",), "0\r\n\r\n"),
        ("GET /llm/openai/v1/models", ("Authorization: Bearer another",), ""),
        ("GET /llm/openai/v1/models", ("x-api-key: another",), ""),
        ("GET /llm/openai/v1/models", ("x-goog-api-key: another",), ""),
    ],
)
def test_a_request_that_could_be_read_twice_is_refused(
    gateway: GatewayProcess, provider: ModelVendor, head: str, headers: tuple[str, ...], body: str
) -> None:
    assert ask(gateway, head, *headers, body=body) in {400, 401, 404, 405}
    assert provider.requests == []


def test_an_upgrade_is_not_passed_on(gateway: GatewayProcess, provider: ModelVendor) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13")
    assert ask(gateway, "GET /llm/openai/v1/models", *upgrade) in {200, 400}
    assert all("Upgrade" not in request.headers for request in provider.requests)


def test_every_provider_has_a_way_to_speak() -> None:
    for provider in PROVIDERS.values():
        assert any(call.startswith("POST ") for call in provider.calls)
        assert not any(call.split()[0] not in {"GET", "POST"} for call in provider.calls)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b'{"messages": []}',
        b'{"model": null}',
        b'{"prompt": {"id": "p"}}',
        b'{"model": "gpt-5", "models": "another"}',
        b'{"model": "gpt-5", "models": {"x": "another"}}',
        b'{"models": []}',
    ],
)
def test_a_call_that_does_not_name_the_configured_model_reaches_nobody(
    gateway: GatewayProcess, provider: ModelVendor, body: bytes
) -> None:
    refused = gateway.call_model(data=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"].startswith("model")
    assert provider.requests == []
