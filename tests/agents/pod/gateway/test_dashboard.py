"""The engine's own page below the pod's address: for people who are signed in, and for nobody else."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
import requests

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import GatewayProcess
from tests.agents.pod.gateway.visitor import HTML, PASSWORD, cookie_of, get, post
from tests.doubles.engine_page import PAGE, POLICY, EnginePage
from tests.doubles.engine_page import PASSWORD as ENGINE_PASSWORD

pytestmark = pytest.mark.sampled

ENTRY = f"/{base64.urlsafe_b64encode(b'/data/workspace').decode().rstrip('=')}/session"


@pytest.fixture
def page() -> Iterator[EnginePage]:
    with EnginePage() as double:
        yield double


@pytest.fixture
def pod(start_gateway: StartGateway, page: EnginePage) -> GatewayProcess:
    return start_gateway(engine="opencode", engine_url=page.url, engine_password=ENGINE_PASSWORD, **PASSWORD)


def test_the_password_leads_to_the_engines_page(pod: GatewayProcess) -> None:
    form = {"username": PASSWORD["dash_username"], "password": PASSWORD["dash_password"]}
    answer = post(pod, "/login", data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard")
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    entry = get(pod, "/dashboard", Cookie=cookie)
    assert (entry.status_code, entry.headers["Location"]) == (303, ENTRY)
    shown = get(pod, ENTRY, Cookie=cookie, **HTML)
    assert (shown.status_code, shown.text) == (200, PAGE)


@pytest.mark.parametrize("where", [{"directory": "x" * 100_000}, [], "x", {}])
def test_an_engine_that_says_nonsense_of_its_place_has_no_page(
    pod: GatewayProcess, page: EnginePage, where: Any
) -> None:
    page.where = where
    assert get(pod, "/dashboard", Cookie=cookie_of(pod)).status_code == 503


def test_the_chat_page_stays_at_the_address_itself_and_links_to_it(
    pod: GatewayProcess, gateway: GatewayProcess
) -> None:
    shown = get(pod, "/", Cookie=cookie_of(pod), **HTML).text
    assert 'id="composer"' in shown
    assert 'href="/dashboard"' in shown
    assert "/dashboard" not in get(gateway, "/", Cookie=cookie_of(gateway), **HTML).text


@pytest.mark.parametrize("path", [ENTRY, "/assets/index-1.js", "/session", "/event", "/favicon.svg"])
def test_a_stranger_finds_nothing_and_the_engine_is_not_asked(pod: GatewayProcess, page: EnginePage, path: str) -> None:
    assert get(pod, path).status_code == 404
    assert get(pod, path, Cookie="agent-pod-0123456789abcdef-1=forged").status_code == 404
    assert page.seen == []


def test_a_stranger_at_its_door_is_sent_to_the_login(pod: GatewayProcess) -> None:
    answer = get(pod, "/dashboard", **HTML)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login")


def test_without_a_password_only_a_link_of_the_console_opens_it(start_gateway: StartGateway, page: EnginePage) -> None:
    pod = start_gateway(engine="opencode", engine_url=page.url, engine_password=ENGINE_PASSWORD)
    assert get(pod, "/dashboard", **HTML).status_code == 403
    assert get(pod, "/dashboard", Cookie=cookie_of(pod)).headers["Location"] == ENTRY


def test_the_engine_gets_its_own_login_and_never_the_visitors(pod: GatewayProcess, page: EnginePage) -> None:
    cookie = cookie_of(pod)
    get(pod, "/session?limit=5", Cookie=cookie, Authorization="Bearer of-the-visitor", Referer="https://elsewhere")
    seen = page.seen[-1]
    assert seen["path"] == "/session?limit=5"
    assert base64.b64decode(seen["headers"]["authorization"].removeprefix("Basic ")).endswith(ENGINE_PASSWORD.encode())
    assert not {"cookie", "referer", "origin"} & set(seen["headers"])
    assert seen["headers"]["host"] == page.url.removeprefix("http://")


def test_headers_of_one_connection_are_not_passed_on(pod: GatewayProcess, page: EnginePage) -> None:
    hops = {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "Proxy-Connection": "keep-alive", "X-End": "1"}
    answer = get(pod, "/assets/index-1.js", Cookie=cookie_of(pod), **hops)
    sent = page.seen[-1]["headers"]
    assert not {"x-hop", "proxy-connection"} & set(sent)
    assert "x-hop" not in sent.get("connection", "").lower()
    assert (sent["x-end"], answer.headers["X-End"]) == ("1", "2")
    assert "X-Hop" not in answer.headers


def test_the_engine_hears_at_which_address_it_is_seen(pod: GatewayProcess, page: EnginePage) -> None:
    lied = {"X-Agentpods-Visited": "https://elsewhere"}
    get(pod, "/session", Cookie=cookie_of(pod), Host="bot.example:8443", **lied)
    assert page.seen[-1]["headers"]["x-agentpods-visited"] == "http://bot.example:8443"


def test_the_visitor_gets_no_cookie_and_no_login_of_the_engine(pod: GatewayProcess) -> None:
    answer = get(pod, "/assets/index-1.js", Cookie=cookie_of(pod))
    assert answer.text == "page()"
    assert "Set-Cookie" not in answer.headers
    assert ENGINE_PASSWORD not in str(answer.headers) + answer.text


def test_the_gateways_own_assets_stay_its_own(pod: GatewayProcess, page: EnginePage) -> None:
    assert get(pod, "/assets/chat.js", Cookie=cookie_of(pod)).status_code == 200
    assert page.seen == []


def test_the_engines_policy_holds_and_ours_with_it(pod: GatewayProcess) -> None:
    answer = get(pod, ENTRY, Cookie=cookie_of(pod), **HTML)
    policies = answer.headers["Content-Security-Policy"]
    assert POLICY in policies
    assert "connect-src 'self'" in policies
    assert "frame-ancestors 'none'" in policies
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_a_page_that_the_engine_gives_no_policy_runs_no_script(pod: GatewayProcess) -> None:
    """Such a page may be a file that the agent wrote."""
    answer = get(pod, "/file.html", Cookie=cookie_of(pod), **HTML)
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_events_come_through_before_they_end(pod: GatewayProcess, page: EnginePage) -> None:
    with requests.get(f"{pod.public}/event", headers={"Cookie": cookie_of(pod)}, stream=True, timeout=10) as answer:
        assert next(answer.iter_lines()) == b"data: first"
        page.released.set()


def test_a_message_is_passed_on_from_the_page_alone(pod: GatewayProcess, page: EnginePage) -> None:
    cookie = cookie_of(pod)
    assert post(pod, "/session/ses_1/message", cookie=cookie, json={"parts": []}).status_code == 200
    assert page.seen[-1]["body"] == '{"parts": []}'
    foreign = post(pod, "/session/ses_1/message", cookie=cookie, origin="https://evil.example", json={})
    assert foreign.status_code == 403
    assert len(page.seen) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/config"),
        ("PATCH", "/global/config"),
        ("PUT", "/auth/openai"),
        ("POST", "/mcp"),
        ("POST", "/global/upgrade"),
        ("POST", "/instance/dispose"),
        ("POST", "/session/ses_1/shell"),
        ("POST", "/session/ses_1/share"),
        ("POST", "/pty"),
        ("GET", "/pty/1/connect"),
        ("POST", "/api/pty"),
        ("POST", "/api/session/ses_1/shell"),
        ("POST", "/session/ses_1/SHELL"),
        ("POST", "/session/ses_1/shell/"),
        ("GET", "/PTY"),
        ("POST", "/session/ses_1/command"),
    ],
)
def test_what_the_console_decides_is_not_changed_here(
    pod: GatewayProcess, page: EnginePage, method: str, path: str
) -> None:
    headers = {"Cookie": cookie_of(pod), "Origin": pod.public}
    answer = requests.request(method, pod.public + path, headers=headers, json={}, timeout=10)
    assert answer.status_code == 403
    assert path in answer.json()["message"]
    assert page.seen == []


@pytest.mark.parametrize(
    "path",
    [
        "/session/../config",
        "/session/%2e%2e/config",
        "/session/x/.%2E/../pty",
        "/session/./../pty",
        "/session\\..\\pty",
        "/session%5C..%5Cpty",
        "//pty",
        "/session/..",
        "/session/%00",
        "/session/ses_1/shell;x",
    ],
)
def test_a_path_that_the_engine_would_read_as_another_does_not_reach_it(
    pod: GatewayProcess, page: EnginePage, path: str
) -> None:
    client = HTTPConnection(pod.public.removeprefix("http://"), timeout=10)
    client.request("POST", path, body="{}", headers={"Cookie": cookie_of(pod), "Origin": pod.public})
    assert client.getresponse().status == 400
    client.close()
    assert page.seen == []


def test_an_encoded_slash_hides_no_terminal(pod: GatewayProcess, page: EnginePage) -> None:
    answer = post(pod, "/session/ses_a%2Fb/shell", cookie=cookie_of(pod), json={})
    assert answer.status_code == 403
    assert page.seen == []


def test_a_body_beyond_the_limit_is_refused(pod: GatewayProcess) -> None:
    answer = post(pod, "/session/ses_1/message", cookie=cookie_of(pod), data=b"x" * (16 * 1024 * 1024 + 1))
    assert answer.status_code == 413


def test_an_engine_whose_page_is_gone_is_a_503(pod: GatewayProcess, page: EnginePage) -> None:
    cookie = cookie_of(pod)
    page.stop()
    for path in ("/dashboard", "/session"):
        answer = get(pod, path, Cookie=cookie)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "3")


def test_an_engine_without_a_page_has_no_dashboard(gateway: GatewayProcess) -> None:
    cookie = cookie_of(gateway)
    assert get(gateway, "/dashboard", Cookie=cookie).status_code == 404
    assert get(gateway, "/session", Cookie=cookie).status_code == 404


@pytest.fixture
def beside() -> Iterator[EnginePage]:
    with EnginePage(asks=False) as double:
        yield double


@pytest.fixture
def hermes(start_gateway: StartGateway, beside: EnginePage) -> GatewayProcess:
    return start_gateway(engine="hermes", side_url=beside.url, dashboard=True, **PASSWORD)


def test_a_page_beside_the_engine_lives_below_a_prefix_that_its_server_is_told_of(
    hermes: GatewayProcess, beside: EnginePage
) -> None:
    cookie = cookie_of(hermes)
    assert get(hermes, "/dashboard", Cookie=cookie).headers["Location"] == "/dashboard/sessions"
    said = {"Cookie": cookie, "X-Forwarded-Prefix": "/of-the-visitor"}
    assert get(hermes, "/dashboard/assets/index-1.js?v=2", **said).status_code == 200
    assert beside.seen[-1]["path"] == "/assets/index-1.js?v=2"
    assert beside.seen[-1]["headers"]["x-forwarded-prefix"] == "/dashboard"
    assert "cookie" not in beside.seen[-1]["headers"]


def test_scripts_run_in_a_page_beside_the_engine_though_it_names_no_policy(hermes: GatewayProcess) -> None:
    answer = get(hermes, "/dashboard/file.html", Cookie=cookie_of(hermes), **HTML)
    policies = answer.headers["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-inline'" in policies
    assert "default-src 'none'" not in policies
    assert "frame-ancestors 'none'" in policies


@pytest.mark.parametrize("path", ["/api/sessions", "/dashboards", "/assets/index-1.js", "/dashboard/../api/x"])
def test_what_is_not_below_the_prefix_is_not_the_pages(hermes: GatewayProcess, beside: EnginePage, path: str) -> None:
    assert get(hermes, path, Cookie=cookie_of(hermes)).status_code == 404
    assert beside.seen == []


def test_a_page_beside_the_engine_has_no_terminal_and_changes_no_configuration(
    hermes: GatewayProcess, beside: EnginePage
) -> None:
    cookie = cookie_of(hermes)
    assert get(hermes, "/dashboard/api/pty", Cookie=cookie).status_code == 403
    assert post(hermes, "/dashboard/api/model/set", cookie=cookie).status_code == 403
    assert beside.seen == []


def test_without_credentials_of_its_owner_there_is_no_page_beside_the_engine(
    start_gateway: StartGateway, beside: EnginePage
) -> None:
    pod = start_gateway(engine="hermes", side_url=beside.url)
    cookie = cookie_of(pod)
    assert get(pod, "/dashboard", Cookie=cookie).status_code == 404
    assert get(pod, "/dashboard/sessions", Cookie=cookie).status_code == 404
    assert "/dashboard" not in get(pod, "/", Cookie=cookie, **HTML).text
    assert beside.seen == []
