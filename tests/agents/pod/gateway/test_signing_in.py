"""Signing in to the pod's page with tickets, passwords and cookies, and signing out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie

import pytest
import requests

from agents.pod import tickets
from tests.agents.pod.gateway.conftest import StartGateway
from tests.agents.pod.gateway.process import CONSOLE, MANAGEMENT_TOKEN, NAMESPACE, TICKET_KEY, GatewayProcess
from tests.agents.pod.gateway.visitor import HTML, PASSWORD, cookie_of, get, post
from tests.doubles.bridge import BridgeDouble


def test_a_ticket_signs_in_once(gateway: GatewayProcess) -> None:
    ticket = gateway.ticket()
    answer = get(gateway, f"/ticket?t={ticket}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = SimpleCookie(answer.headers["Set-Cookie"])[f"agent-{NAMESPACE}"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"]) == (True, "Lax", "/", "")
    page = get(gateway, "/", Cookie=f"agent-{NAMESPACE}={cookie.value}")
    assert (page.status_code, "<title>Ada</title>" in page.text) == (200, True)
    again = get(gateway, f"/ticket?t={ticket}", **HTML)
    assert (again.status_code, "Set-Cookie" in again.headers) == (403, False)
    assert "This link no longer works" in again.text
    assert CONSOLE in again.text


TICKETS: dict[str, Callable[[datetime], str]] = {
    "none": lambda _: "",
    "junk": lambda _: "junk",
    "another key": lambda now: tickets.mint("another key", NAMESPACE, now),
    "another pod": lambda now: tickets.mint(TICKET_KEY, "pod-another-1", now),
    "too old": lambda now: tickets.mint(TICKET_KEY, NAMESPACE, now - timedelta(seconds=61)),
}


@pytest.mark.parametrize("kind", TICKETS)
def test_other_tickets_open_nothing(gateway: GatewayProcess, kind: str) -> None:
    answer = get(gateway, f"/ticket?t={TICKETS[kind](datetime.now(UTC))}")
    assert (answer.status_code, answer.json()["error"]) == (403, "FORBIDDEN")
    assert "Set-Cookie" not in answer.headers


def test_a_look_ahead_does_not_use_the_ticket_up(gateway: GatewayProcess) -> None:
    url = f"{gateway.public}/ticket?t={gateway.ticket()}"
    assert requests.head(url, timeout=5).status_code == 405
    assert requests.get(url, timeout=5, allow_redirects=False).status_code == 303


def test_a_ticket_is_not_used_up_while_the_engine_is_not_ready(gateway: GatewayProcess, bridge: BridgeDouble) -> None:
    ticket = gateway.ticket()
    bridge.phase = "starting"
    gateway.look()
    assert get(gateway, f"/ticket?t={ticket}").status_code == 503
    bridge.phase = "ready"
    gateway.look()
    assert get(gateway, f"/ticket?t={ticket}").status_code == 303


def test_behind_https_the_cookie_is_bound_to_the_host(start_gateway: StartGateway) -> None:
    gateway = start_gateway(public_url="https://ada-abc123.pods.example")
    cookie = get(gateway, f"/ticket?t={gateway.ticket()}").headers["Set-Cookie"]
    assert cookie.startswith("__Host-agent=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))
    signed_in = cookie.partition(";")[0]
    chat = {"message": "hi"}
    assert post(gateway, "/chat", cookie=signed_in, origin="https://ada-abc123.pods.example", json=chat).ok


@pytest.mark.parametrize("cookie", ["agent-{}=wrong", "agent-{}=", "__Host-agent=x", "agent-{}=\xff"])
def test_made_up_cookies_open_nothing(gateway: GatewayProcess, cookie: str) -> None:
    assert get(gateway, "/", Cookie=cookie.format(NAMESPACE)).status_code == 403


def test_the_management_token_opens_nothing_here(gateway: GatewayProcess) -> None:
    assert get(gateway, "/state", Authorization=f"Bearer {MANAGEMENT_TOKEN}").status_code == 403
    assert get(gateway, "/health", Authorization=f"Bearer {MANAGEMENT_TOKEN}").status_code == 404


def test_signing_out_ends_the_session_for_good(gateway: GatewayProcess) -> None:
    cookie = cookie_of(gateway)
    answer = post(gateway, "/logout", cookie=cookie)
    assert (answer.status_code, "Max-Age=0" in answer.headers["Set-Cookie"]) == (303, True)
    assert get(gateway, "/", Cookie=cookie).status_code == 403


def test_a_password_opens_the_page_where_there_is_one(start_gateway: StartGateway) -> None:
    gateway = start_gateway(**PASSWORD)
    assert get(gateway, "/").headers["Location"] == "/login"
    form = get(gateway, "/login", **HTML)
    assert ('name="password"' in form.text, form.status_code) == (True, 200)
    wrong = post(gateway, "/login", data={"username": "ada", "password": "wrong"})
    assert (wrong.status_code, "is wrong" in wrong.text) == (401, True)
    right = post(gateway, "/login", data={"username": "ada", "password": "correct horse"})
    assert (right.status_code, right.headers["Location"]) == (303, "/")
    cookie = right.headers["Set-Cookie"].partition(";")[0]
    assert get(gateway, "/", Cookie=cookie).status_code == 200
    other = post(
        gateway, "/login", origin="https://evil.example", data={"username": "ada", "password": "correct horse"}
    )
    assert other.status_code == 403


def test_guessing_passwords_is_stopped_and_tickets_still_work(start_gateway: StartGateway) -> None:
    gateway = start_gateway(**PASSWORD)
    guesses = [post(gateway, "/login", data={"username": "ada", "password": str(n)}).status_code for n in range(10)]
    assert guesses == [401] * 10
    locked = post(gateway, "/login", data={"username": "ada", "password": "correct horse"})
    assert locked.status_code == 429
    assert 0 < int(locked.headers["Retry-After"]) <= 301
    assert get(gateway, f"/ticket?t={gateway.ticket()}").status_code == 303


def test_a_new_password_signs_everybody_out(start_gateway: StartGateway) -> None:
    gateway = start_gateway(**PASSWORD)
    cookie = cookie_of(gateway)
    gateway.configure(soul="New.")
    assert get(gateway, "/", Cookie=cookie).status_code == 200
    gateway.configure(dash_password="new horse")
    assert get(gateway, "/", Cookie=cookie).status_code == 303


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=a", b"--a\r\n\r\nx\r\n--a--"),
        ("text/plain", b"username=ada"),
        ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * 17)),
    ],
)
def test_what_is_no_form_of_ours_is_refused_in_words(start_gateway: StartGateway, kind: str, body: bytes) -> None:
    """If a stranger could make the gateway fail, he could fill the owner's log."""
    pod = start_gateway(**PASSWORD)
    headers = {"Content-Type": kind, "Origin": pod.public}
    assert requests.post(f"{pod.public}/login", data=body, headers=headers, timeout=10).status_code == 400
    assert "Traceback" not in pod.log


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded; charset=none", "application/x-www-form-urlencoded"]
)
def test_letters_that_are_none_are_a_wrong_password(start_gateway: StartGateway, kind: str) -> None:
    pod = start_gateway(**PASSWORD)
    headers = {"Content-Type": kind, "Origin": pod.public}
    sent = b"username=%ff%00&password=\xff"
    assert requests.post(f"{pod.public}/login", data=sent, headers=headers, timeout=10).status_code == 401


def test_a_body_that_is_not_packed_as_it_says_is_refused(start_gateway: StartGateway) -> None:
    pod = start_gateway(**PASSWORD)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": "gzip", "Origin": pod.public}
    assert requests.post(f"{pod.public}/login", data=b"x" * 100, headers=headers, timeout=10).status_code == 400
