"""Who may call the key proxy, and where a call may go."""

from __future__ import annotations

import base64
import http.client

import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import KEY, LLM_TOKEN, GatewayProcess
from tests.doubles.provider import ModelVendor

GOOD = {"Authorization": f"Bearer {LLM_TOKEN}"}


def raw(gateway: GatewayProcess, target: str, *, method: str = "GET", host: str | None = None) -> int:
    """Send the request target exactly as it is. Returns the status."""
    connection = http.client.HTTPConnection("127.0.0.1", gateway.start.llm_port, timeout=10)
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", host or f"127.0.0.1:{gateway.start.llm_port}")
    connection.putheader("Authorization", f"Bearer {LLM_TOKEN}")
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {LLM_TOKEN}"},
        {"Authorization": "Bearer"},
        {"x-api-key": "wrong"},
        {"x-goog-api-key": "wrong"},
        {"x-api-key": ""},
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": f"Bearer {LLM_TOKEN}", "x-api-key": "wrong"},
        {"Authorization": "Bearer wrong", "x-goog-api-key": LLM_TOKEN},
        {"Authorization": b"Bearer \xff"},
        {"Cookie": f"key={LLM_TOKEN}"},
    ],
)
def test_whoever_lacks_the_pods_token_is_refused(
    gateway: GatewayProcess, provider: ModelVendor, headers: dict[str, str]
) -> None:
    url = f"{gateway.llm}/llm/openai/v1/responses"
    answer = requests.post(url, headers=headers, json={"model": "gpt-5"}, timeout=5)
    assert answer.status_code == 401
    assert provider.requests == []


def test_a_right_header_beside_a_wrong_key_option_is_refused(gateway: GatewayProcess, provider: ModelVendor) -> None:
    for option in ("key=wrong", "access_token=wrong", "%6bey=wrong", "KEY=wrong"):
        assert gateway.call_model(f"/llm/openai/v1/responses?{option}").status_code == 401
    assert provider.requests == []


def test_without_a_model_key_nothing_goes_out(start_gateway: StartGateway, provider: ModelVendor) -> None:
    answer = start_gateway(llm_key=None).call_model()
    assert (answer.status_code, answer.json()["error"]["message"]) == (401, "this agent has no model key")
    assert provider.requests == []


@pytest.mark.parametrize(
    "target",
    [
        "/llm/openai/../../admin",
        "/llm/openai/v1/../../admin",
        "/llm/openai/v1/..",
        "/llm/openai/v1/.",
        "/llm/openai/v1/%2e%2e/%2e%2e/admin",
        "/llm/openai/v1/.%2e/admin",
        "/llm/openai/v1/%252e%252e/admin",
        "/llm/openai/v1/..%2fadmin",
        "/llm/openai/v1/..%5cadmin",
        "/llm/openai/v1/..\\admin",
        "/llm/openai/v1/models%2f..%2f..%2fadmin",
        "/llm/openai/v1//evil.example/",
        "/llm/openai//evil.example/v1",
        "/llm/openai/@evil.example/%00",
        "/llm/openai/v1/a%0d%0aHost:evil.example",
        "/llm/openai/v1/%ff",
    ],
)
def test_no_path_leaves_the_providers_base(gateway: GatewayProcess, provider: ModelVendor, target: str) -> None:
    assert raw(gateway, target) == 400
    assert provider.requests == []


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.example/llm/openai/v1/models",
        "http://169.254.169.254/latest/meta-data",
        "//evil.example/llm/openai/v1/models",
        "/LLM/openai/v1/models",
        "/llm/openai",
        "/llm//v1/models",
        "/llm",
        "/",
        "/v1/models",
        "/llm/open%61i/v1/models",
        "*",
    ],
)
def test_nothing_but_the_pods_own_paths_is_served(gateway: GatewayProcess, provider: ModelVendor, target: str) -> None:
    assert raw(gateway, target) in {400, 404}
    assert provider.requests == []


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "OPTIONS", "PROPFIND"])
def test_only_methods_of_model_apis_are_served(gateway: GatewayProcess, provider: ModelVendor, method: str) -> None:
    target = "evil.example:443" if method == "CONNECT" else "/llm/openai/v1/models"
    assert raw(gateway, target, method=method) in {400, 404, 405}
    assert provider.requests == []


@pytest.mark.parametrize("named", ["anthropic", "google", "evil", "openai.evil.example", "openai-2"])
def test_only_the_configured_provider_is_reached(gateway: GatewayProcess, provider: ModelVendor, named: str) -> None:
    assert gateway.call_model(f"/llm/{named}/v1/models", method="GET").status_code in {403, 404}
    assert provider.requests == []


def test_the_host_header_decides_nothing(gateway: GatewayProcess, provider: ModelVendor) -> None:
    assert raw(gateway, "/llm/openai/v1/models", host="evil.example") == 200
    assert provider.requests[0].headers["Host"] == provider.url.removeprefix("http://")


def test_the_engines_credentials_and_addresses_stay_inside(gateway: GatewayProcess, provider: ModelVendor) -> None:
    inside = {
        "Cookie": "session=1",
        "Proxy-Authorization": "Basic x",
        "X-Forwarded-For": "10.0.0.1",
        "Forwarded": "for=10.0.0.1",
        "X-Real-IP": "10.0.0.1",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "Upgrade": "websocket",
        "api-key": LLM_TOKEN,
        "X_Api_Key": LLM_TOKEN,
        "X-Auth-Token": LLM_TOKEN,
        "X-HTTP-Method-Override": "DELETE",
        "X-Method-Override": "DELETE",
        "X-Original-URL": "/v1/files",
        "X-Rewrite-URL": "/v1/files",
        "X-Host": "evil.example",
        "OpenAI-Organization": "org-other",
        "OpenAI-Project": "proj-other",
        "X-Goog-User-Project": "other",
        "User-Agent": "engine/1",
    }
    gateway.call_model(headers=inside)
    sent = provider.requests[0].headers
    assert {name for name in inside if name in sent} <= {"User-Agent", "Connection"}
    assert "X-Hop" not in (sent["Connection"] or "")
    assert (sent["User-Agent"], sent["Accept-Encoding"]) == ("engine/1", "identity")
    assert LLM_TOKEN not in str(sent)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_and_never_followed(fresh: GatewayProcess, provider: ModelVendor, status: int) -> None:
    provider.answer = lambda handler: handler.whole(status, b"", Location=f"{provider.url}/stolen?key={KEY}")
    answer = fresh.call_model()
    assert answer.status_code == 502
    assert "Location" not in answer.headers
    assert [request.target for request in provider.requests] == ["/v1/responses"]
    assert fresh.ask("GET", "/health").json()["model"]["last_failure"]["status"] == status


def test_credentials_of_the_provider_stay_outside(gateway: GatewayProcess, provider: ModelVendor) -> None:
    outside = {
        "Set-Cookie": "session=1",
        "WWW-Authenticate": "Bearer",
        "Alt-Svc": 'h3=":443"',
        "Authorization": f"Bearer {KEY}",
        "X-Echo": f"you are {KEY}!",
        "X-Request-Id": "req_1",
        "Connection": "X-Hop",
        "X-Hop": "1",
    }
    provider.answer = lambda handler: handler.whole(200, b"{}", **outside)
    answer = gateway.call_model()
    for name in ("Set-Cookie", "WWW-Authenticate", "Alt-Svc", "Authorization", "X-Hop"):
        assert name not in answer.headers
    assert (answer.headers["X-Echo"], answer.headers["X-Request-Id"]) == ("you are [secret]!", "req_1")


def test_credentials_in_the_base_url_are_not_sent(start_gateway: StartGateway, provider: ModelVendor) -> None:
    base = provider.url.replace("http://", "http://user:pass@") + "/v1"
    start_gateway(llm_base_url=base).call_model()
    sent = provider.requests[0].headers
    assert sent["Authorization"] == f"Bearer {KEY}"
    assert base64.b64encode(b"user:pass").decode() not in str(sent)


def test_a_key_that_no_header_can_carry_is_named_and_not_sent(
    start_gateway: StartGateway, provider: ModelVendor
) -> None:
    answer = start_gateway(llm_key="sk-\r\nX-Evil: 1").call_model()
    assert (answer.status_code, provider.requests) == (400, [])
    assert "model key has characters" in answer.json()["error"]["message"]


def test_proxies_of_the_environment_are_not_used(start_gateway: StartGateway, provider: ModelVendor) -> None:
    gateway = start_gateway(
        inside=False, environment={"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    )
    assert gateway.call_model().status_code == 200
