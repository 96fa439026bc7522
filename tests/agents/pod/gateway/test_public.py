"""The pod's public address: health, readiness, ways to sign in, and the answers to strangers."""

from __future__ import annotations

import time

import pytest

from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import CONSOLE, KEY, MANAGEMENT_TOKEN, TICKET_KEY, GatewayProcess
from tests.agents.pod.gateway.visitor import HTML, PASSWORD, cookie_of, get, post
from tests.doubles.bridge import BridgeDouble

pytestmark = pytest.mark.unmeasured

CARDS = ["/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/.well-known/agent-card.json"]


def test_health_is_answered_whatever_the_engine_does(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    assert get(gateway, "/healthz").json() == {"status": "ok"}
    bridge.stop()
    assert get(gateway, "/healthz").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/login", "/ticket?t=x", "/state", "/assets/chat.js", "/nothing", "/a2a", *CARDS]
)
def test_until_the_engine_is_ready_all_else_is_503(gateway: GatewayProcess, bridge: BridgeDouble, path: str) -> None:
    bridge.phase = "starting"
    gateway.look()
    answer = get(gateway, path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "3")
    page = get(gateway, path, **HTML)
    assert (page.status_code, page.headers["Content-Type"]) == (503, "text/html; charset=utf-8")
    assert "Ada is not ready yet" in page.text
    assert 'http-equiv="refresh"' in page.text


def test_programs_hear_of_the_wait_in_json(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    bridge.phase = "installing"
    gateway.look()
    assert get(gateway, "/").json() == {"error": "INTERNAL", "message": "the agent's engine is not ready"}


def test_a_killed_engine_shows_within_seconds_and_a_recovered_one_too(
    gateway: GatewayProcess, bridge: BridgeDouble
) -> None:
    assert get(gateway, "/").status_code == 403
    for phase, status in (("unhealthy", 503), ("ready", 403), ("failed", 503), ("stopped", 503)):
        bridge.phase = phase
        time.sleep(0.6)
        assert get(gateway, "/").status_code == status


def test_strangers_are_told_where_the_door_is(gateway: GatewayProcess) -> None:
    page = get(gateway, "/", **HTML)
    assert page.status_code == 403
    assert f'href="{CONSOLE}"' in page.text
    assert "Only the owner of Ada" in page.text
    assert get(gateway, "/").json()["error"] == "FORBIDDEN"
    assert get(gateway, "/state").status_code == 403
    assert post(gateway, "/chat", json={"message": "hi"}).status_code == 403
    assert get(gateway, "/login").status_code == 403
    assert post(gateway, "/login", data={"username": "", "password": ""}).status_code == 403


@pytest.mark.parametrize("origin", ["", "null", "https://evil.example", "http://127.0.0.1:1", "http://127.0.0.1"])
def test_other_sites_cannot_use_the_cookie(gateway: GatewayProcess, bridge: BridgeDouble, origin: str) -> None:
    answer = post(gateway, "/chat", cookie=cookie_of(gateway), origin=origin, json={"message": "hi"})
    assert answer.status_code == 403
    assert bridge.turns == []


def test_a_form_of_another_site_cannot_speak(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    answer = post(gateway, "/chat", cookie=cookie_of(gateway), data='{"message": "hi"}')
    assert (answer.status_code, bridge.turns) == (400, [])


def test_the_owner_chats_and_sees_the_state(gateway: GatewayProcess) -> None:
    cookie = cookie_of(gateway)
    assert post(gateway, "/chat", cookie=cookie, json={"message": "hello"}).json()["reply"] == "you said hello"
    assert get(gateway, "/state", Cookie=cookie).json() == {"ready": True, "has_key": True}


@pytest.mark.parametrize("path", CARDS)
@pytest.mark.parametrize("accept", ["application/json", "text/html", "*/*"])
def test_with_a2a_off_a_card_request_gets_a_web_page(gateway: GatewayProcess, path: str, accept: str) -> None:
    answer = get(gateway, path, Accept=accept)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert answer.text.startswith("<!doctype html>")


def test_with_a2a_off_its_calls_are_closed(gateway: GatewayProcess) -> None:
    for path in ("/a2a", "/a2a/"):
        assert post(gateway, path, json={"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}).status_code == 404


def test_unknown_pages_are_html_for_browsers_and_json_for_programs(gateway: GatewayProcess) -> None:
    assert "Nothing here" in get(gateway, "/nothing", **HTML).text
    assert get(gateway, "/nothing").json()["error"] == "NOT_FOUND"
    assert get(gateway, "/assets/../pages.py").status_code == 404
    assert get(gateway, "/assets/%2e%2e%2fpages.py").status_code == 404


@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing", "/login", "/assets/chat.css"])
def test_every_answer_is_locked_down(gateway: GatewayProcess, path: str) -> None:
    headers = get(gateway, path, **HTML).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"]) == ("nosniff", "DENY")
    assert "Server" not in headers


def test_assets_are_asked_for_again_by_their_tag(gateway: GatewayProcess) -> None:
    first = get(gateway, "/assets/chat.js")
    assert first.headers["Content-Type"] == "text/javascript; charset=utf-8"
    again = get(gateway, "/assets/chat.js", **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_name_is_text_on_every_page(start_gateway: StartGateway, bridge: BridgeDouble) -> None:
    evil = '"><script>alert(1)</script>$soul'
    gateway = start_gateway(name=evil, **PASSWORD)
    pages = [get(gateway, "/", Cookie=cookie_of(gateway)).text, get(gateway, "/login", **HTML).text]
    pages.append(get(gateway, "/nothing", **HTML).text)
    bridge.phase = "starting"
    gateway.look()
    pages.append(get(gateway, "/", **HTML).text)
    assert not [page for page in pages if "<script>alert" in page]
    assert all("$soul" in page for page in pages)


def test_a_console_address_that_is_no_web_address_is_no_link(start_gateway: StartGateway) -> None:
    page = get(start_gateway(console_url="javascript:alert(1)"), "/", **HTML).text
    assert "javascript:" not in page


def test_the_page_has_no_secret_in_it(gateway: GatewayProcess) -> None:
    page = get(gateway, "/", Cookie=cookie_of(gateway)).text
    assert not [secret for secret in (KEY, TICKET_KEY, MANAGEMENT_TOKEN) if secret in page]


def test_the_pages_script_sets_text_and_never_markup(gateway: GatewayProcess) -> None:
    script = get(gateway, "/assets/chat.js").text
    assert not [way for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(") if way in script]
