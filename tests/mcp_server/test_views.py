"""`/mcp`: who is let in, and which bodies never reach the protocol's library."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.mcp_server.conftest import HandWritten

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_without_a_key_nothing_is_answered(model: HandWritten) -> None:
    model.key = "ak_live_wrong"
    refused = model.post(PING)
    assert refused.status_code == 401
    assert refused["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_streams_and_no_sessions(model: HandWritten, api: APIClient, method: str) -> None:
    refused = api.generic(method, "/mcp", HTTP_AUTHORIZATION=f"Bearer {model.key}")
    assert refused.status_code == 405
    assert "POST" in refused["Allow"]


def test_a_page_of_another_site_is_refused(model: HandWritten) -> None:
    assert model.post(PING, HTTP_ORIGIN="https://evil.example").status_code == 403


def test_a_page_of_ours_is_let_in(model: HandWritten, settings: object) -> None:
    assert model.post(PING, HTTP_ORIGIN=settings.BASE_URL).status_code == 200  # type: ignore[attr-defined]


def test_another_host_is_refused(model: HandWritten) -> None:
    assert model.post(PING, HTTP_HOST="evil.example").status_code == 400


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("[" + '{"jsonrpc":"2.0","id":1,"method":"ping"}' + "]", -32600),
        ("{", -32700),
        (b"\xff", -32700),
        ('{"a":' * 100 + "1" + "}" * 100, -32700),
        ('"ping"', -32600),
    ],
    ids=["batch", "broken", "no text", "deep", "no object"],
)
def test_a_body_that_is_no_message_is_refused(model: HandWritten, body: str | bytes, code: int) -> None:
    refused = model.post(body)
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == code


def test_a_huge_body_is_refused(model: HandWritten) -> None:
    assert model.post({**PING, "params": {"a": "x" * 1_100_000}}).status_code == 413


def test_a_notification_is_accepted_without_a_body(model: HandWritten) -> None:
    accepted = model.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert accepted.status_code == 202
    assert accepted.content == b""


def test_no_session_is_begun(model: HandWritten) -> None:
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begun = model.post({**PING, "method": "initialize", "params": begin})
    assert begun.json()["result"]["protocolVersion"] == "2025-11-25"
    assert "Mcp-Session-Id" not in begun
