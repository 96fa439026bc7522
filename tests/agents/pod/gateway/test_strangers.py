"""Webhooks that an engine's owner built for everybody: they need no login, and nobody gets another person's login."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
import requests

from agents.engines.n8n_http import HEADER
from agents.engines.n8n_workflow import AGENT_ID
from agents.pod.gateway.dashboard import MOST_STRANGERS
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.visitor import HTML, PASSWORD, cookie_of, get, post
from tests.doubles.engine_page import PASSWORD as ENGINE_PASSWORD
from tests.doubles.engine_page import EnginePage

EVIL = "https://evil.example"


@pytest.fixture
def page() -> Iterator[EnginePage]:
    with EnginePage(asks=False) as double:
        yield double


@pytest.fixture
def pod(start_gateway: StartGateway, page: EnginePage) -> GatewayProcess:
    return start_gateway(engine="n8n", engine_url=page.url, engine_password=ENGINE_PASSWORD, **PASSWORD)


def test_anybody_may_call_a_webhook_from_anywhere(pod: GatewayProcess, page: EnginePage) -> None:
    answer = post(pod, "/webhook/orders?id=7", origin=EVIL, json={"order": 7})
    assert answer.status_code == 200
    seen = page.seen[-1]
    assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/webhook/orders?id=7", '{"order": 7}')


def test_a_caller_keeps_his_own_login_and_never_gets_the_gateways(pod: GatewayProcess, page: EnginePage) -> None:
    get(pod, "/webhook/orders", Authorization="Basic his-own", Cookie=cookie_of(pod), **{HEADER: "a guess"})
    headers = page.seen[-1]["headers"]
    assert headers["authorization"] == "Basic his-own"
    assert HEADER.lower() not in headers
    assert "cookie" not in headers
    assert ENGINE_PASSWORD not in str(headers)


def test_what_a_webhook_answers_acts_in_nobodys_name(pod: GatewayProcess) -> None:
    """The answer comes from the same address as the editor, so a sandbox takes away the rights of that address."""
    answer = get(pod, "/webhook/file.html", Cookie=cookie_of(pod), **HTML)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [f"/webhook/{AGENT_ID}/chat", "/webhook-test/orders", "/rest/workflows", "/home/workflows", "/agentpods/agent"],
)
def test_a_stranger_reaches_neither_the_agent_itself_nor_the_editor(
    pod: GatewayProcess, page: EnginePage, path: str
) -> None:
    assert get(pod, path).status_code == 404
    assert post(pod, path, json={}).status_code == 404
    assert page.seen == []


@pytest.mark.parametrize("path", ["/webhook/x;y", "/webhook//rest/workflows", "/webhook/a%5Cb"])
def test_a_crooked_path_is_no_webhook(pod: GatewayProcess, page: EnginePage, path: str) -> None:
    assert get(pod, path).status_code == 404
    assert page.seen == []


def test_a_strangers_body_has_a_limit(pod: GatewayProcess, page: EnginePage) -> None:
    assert post(pod, "/webhook/orders", data=b"x" * (4 * 1024 * 1024 + 1)).status_code == 413
    assert page.seen == []


def test_a_packed_body_reaches_the_engine_as_what_it_says_it_is(pod: GatewayProcess, page: EnginePage) -> None:
    """The gateway's server has already unpacked it."""
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    answer = requests.post(f"{pod.public}/webhook/x", data=gzip.compress(b"hello"), headers=headers, timeout=10)
    assert answer.status_code == 200
    assert page.seen[-1]["body"] == "hello"
    assert "content-encoding" not in page.seen[-1]["headers"]


def test_strangers_cannot_fill_the_gateways_memory(start_gateway: StartGateway) -> None:
    """A gateway has 256 MiB in a cluster. It must keep all bodies while an engine is slow to answer."""
    with socket.create_server(("127.0.0.1", 0)) as engine, ThreadPoolExecutor(MOST_STRANGERS) as strangers:
        late = f"http://127.0.0.1:{engine.getsockname()[1]}"
        given = {"engine": "n8n", "engine_url": late, "engine_password": ENGINE_PASSWORD, **PASSWORD}
        pod = start_gateway(inside=False, **given)
        body = b"x" * (4 * 1024 * 1024)

        def call(_: int) -> int | None:
            try:
                return requests.post(f"{pod.public}/webhook/x", data=body, timeout=5).status_code
            except requests.Timeout:
                return None

        answers = list(strangers.map(call, range(MOST_STRANGERS)))
        assert set(answers) == {None, 429}
        assert psutil.Process(pod.pid).memory_info().rss < 128 * 1024 * 1024


def test_the_editor_is_shown_to_who_is_signed_in_as_n8ns_owner(pod: GatewayProcess, page: EnginePage) -> None:
    cookie = cookie_of(pod)
    assert get(pod, "/dashboard", Cookie=cookie).headers["Location"] == "/home/workflows"
    assert get(pod, "/home/workflows", Cookie=cookie, **HTML).status_code == 200
    assert page.seen[-1]["headers"][HEADER.lower()] == ENGINE_PASSWORD
    assert post(pod, "/rest/workflows", cookie=cookie, json={}).status_code == 200
    assert post(pod, f"/rest/workflows/{AGENT_ID}/deactivate", cookie=cookie, json={}).status_code == 403


def test_an_engine_that_shows_nothing_to_all_is_not_called(start_gateway: StartGateway, page: EnginePage) -> None:
    pod = start_gateway(engine="opencode", engine_url=page.url, engine_password=ENGINE_PASSWORD, **PASSWORD)
    assert post(pod, "/webhook/orders", json={}).status_code == 404
    assert page.seen == []
