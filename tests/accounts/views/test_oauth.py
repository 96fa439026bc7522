"""Programs get a key for a code, and what they may do with it (RFC 6749, 7636, 8628; docs/reference/oauth.md)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from authlib.oauth2 import rfc8414
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import ApiKey, User
from accounts.oauth.models import OAuthClient, OAuthGrant
from tests.accounts.conftest import with_token
from tests.accounts.oauth.asking_program import BACK, CLIENT, FORM, VERIFIER, answered, exchanged, request_of
from tests.pages.account.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("program")]


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("owner@example.com")


@pytest.fixture
def code(owner: User) -> str:
    return answered(Visitor(owner), request_of())["code"]


def test_a_code_becomes_a_key_that_may_do_what_the_person_allowed(owner: User) -> None:
    back = answered(Visitor(owner), request_of(), may="operate", days="30")
    assert (back[""], back["state"], back["iss"]) == (BACK, "the-state", "http://127.0.0.1:8000/oauth")
    token = exchanged(back["code"]).json()
    assert (token["token_type"], token["scope"]) == ("Bearer", "operate")
    assert 29 * 86_400 < token["expires_in"] <= 30 * 86_400
    key = ApiKey.objects.get(user=owner)
    assert (key.name, key.scopes, key.limits is None) == ("A program (program.example)", ["operate"], False)
    caller = with_token(token["access_token"])
    assert caller.get("/me").status_code == 200
    assert caller.post("/keys", {"name": "more"}, format="json").status_code == 403
    assert caller.post("/crypto/orders", {}, format="json").status_code == 403


def test_a_program_with_one_address_need_not_name_it(owner: User) -> None:
    """RFC 6749, 4.1.3."""
    OAuthClient.objects.filter(pk=CLIENT).update(redirect_uris=["https://program.example/back"])
    back = answered(Visitor(owner), request_of(redirect_uri=""))
    assert back[""] == "https://program.example/back"
    sent = {"grant_type": "authorization_code", "client_id": CLIENT, "code": back["code"], "code_verifier": VERIFIER}
    assert APIClient().post("/oauth/token", urlencode(sent), content_type=FORM).status_code == 200


def test_nothing_at_rest_can_be_used(code: str) -> None:
    secret = exchanged(code).json()["access_token"]
    stored = str([list(rows.objects.values()) for rows in (OAuthGrant, ApiKey)])
    assert code not in stored
    assert secret not in stored


def test_no_log_has_the_key_at_any_level(code: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = exchanged(code).json()["access_token"]
    assert secret not in caplog.text


def test_a_code_that_comes_twice_ends_the_key_that_it_made(code: str) -> None:
    secret = exchanged(code).json()["access_token"]
    assert with_token(secret).get("/me").status_code == 200
    again = exchanged(code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert with_token(secret).get("/me").status_code == 401


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": "w" * 64},
        {"code_verifier": ""},
        {"code_verifier": "short"},
        {"redirect_uri": f"{BACK}/else"},
        {"redirect_uri": "http://127.0.0.1:8888/back"},
        {"client_id": "agentpods-cli"},
        {"client_id": "https://another.example/client.json"},
        {"resource": "https://elsewhere.example/mcp"},
        {"resource": "http://127.0.0.1:8000.example/oauth/mcp"},
        {"grant_type": "password"},
        {"grant_type": "refresh_token"},
        {"code": "another"},
        {"client_id": f"{CLIENT}\0"},
        {"grant_type": '\0é"'},
    ],
)
def test_a_stolen_or_misused_code_makes_no_key(code: str, changed: dict[str, str]) -> None:
    refused = exchanged(code, **changed)
    assert 400 <= refused.status_code < 500, refused.content
    assert "error" in refused.json()
    assert not ApiKey.objects.exists()


def test_a_token_for_an_address_of_this_service_is_given(code: str) -> None:
    assert exchanged(code, resource="http://127.0.0.1:8000/oauth/mcp").status_code == 200


def test_a_code_is_over_after_five_minutes(code: str) -> None:
    with time_machine.travel(timezone.now() + timedelta(minutes=5, seconds=1)):
        assert exchanged(code).json()["error"] == "invalid_grant"


def test_a_code_of_a_person_who_is_suspended_makes_no_key(code: str, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert exchanged(code).json()["error"] == "invalid_grant"
    assert not ApiKey.objects.exists()


def test_too_many_keys_are_refused_with_the_reason(code: str, owner: User, settings: Any) -> None:
    settings.MAX_KEYS = 1
    keys.create(owner, name="first", now=timezone.now())
    refused = exchanged(code).json()
    assert refused["error"] == "invalid_grant"
    assert "revoke one first" in refused["error_description"]


def test_the_program_ends_its_key_by_itself(code: str) -> None:
    secret = exchanged(code).json()["access_token"]
    gone = APIClient().post("/oauth/revoke", urlencode({"token": secret, "client_id": CLIENT}), content_type=FORM)
    assert (gone.status_code, gone.json()) == (200, {})
    assert with_token(secret).get("/me").status_code == 401
    again = APIClient().post("/oauth/revoke", urlencode({"token": secret}), content_type=FORM)
    assert again.status_code == 200


def test_the_metadata_says_where_everything_is() -> None:
    api = APIClient()
    about = api.get("/.well-known/oauth-protected-resource/oauth/mcp").json()
    assert about["resource"] == "http://127.0.0.1:8000/oauth/mcp"
    (issuer,) = about["authorization_servers"]
    told = api.get("/.well-known/oauth-authorization-server/oauth")
    assert told.json()["issuer"] == issuer == "http://127.0.0.1:8000/oauth"
    assert told.headers["Access-Control-Allow-Origin"] == "*"
    for name in ("token_endpoint", "revocation_endpoint", "device_authorization_endpoint"):
        path = told.json()[name].removeprefix("http://127.0.0.1:8000")
        assert api.post(path, "", content_type=FORM).status_code in {200, 400}, name
    rfc8414.AuthorizationServerMetadata(told.json()).validate()


def test_only_the_address_for_connectors_speaks_of_oauth() -> None:
    """Claude Code leaves out the key that it was given where a server advertises OAuth."""
    api = APIClient()
    refused = api.post("/oauth/mcp", {}, format="json")
    about = "http://127.0.0.1:8000/.well-known/oauth-protected-resource/oauth/mcp"
    told = f'resource_metadata="{about}", scope="read operate"'
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, f"Bearer {told}")
    assert api.get("/oauth/mcp").status_code == 401
    wrong = with_token("ak_live_wrong").post("/oauth/mcp", {}, format="json")
    assert wrong.headers["WWW-Authenticate"] == f'Bearer error="invalid_token", {told}'
    assert api.post("/mcp", {}, format="json").headers["WWW-Authenticate"] == "Bearer"
    for place in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"):
        assert api.get(f"/.well-known/{place}").status_code == 404, place


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=1&" * 1_500, b"x" * 9_000, b"%00=%00", b""])
def test_odd_bodies_are_refused(body: bytes) -> None:
    for path in ("/oauth/token", "/oauth/device"):
        assert 400 <= APIClient().post(path, body, content_type=FORM).status_code < 500


def test_a_parameter_that_comes_twice_is_refused(code: str) -> None:
    """RFC 6749, 3.2."""
    sent = f"grant_type=authorization_code&client_id={CLIENT}&code=another&code={code}&code_verifier={VERIFIER}"
    refused = APIClient().post("/oauth/token", f"{sent}&redirect_uri={BACK}", content_type=FORM)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


def test_what_is_in_the_address_is_not_read() -> None:
    """Addresses are logged: RFC 6749, 2.3.1."""
    refused = APIClient().post("/oauth/device?client_id=agentpods-cli", "", content_type=FORM)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client")


def test_a_document_that_cannot_be_read_is_an_error_of_oauth() -> None:
    sent = urlencode({"client_id": "https://127.0.0.1/client.json"})
    refused = APIClient().post("/oauth/device", sent, content_type=FORM)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client")
    assert "AddressRefused" in refused.json()["error_description"]
    nul = APIClient().post("/oauth/device", urlencode({"client_id": f"{CLIENT}\0"}), content_type=FORM)
    assert (nul.status_code, nul.json()["error"]) == (400, "invalid_client")


def test_a_revocation_without_a_token_is_refused() -> None:
    """RFC 7009, 2.1."""
    refused = APIClient().post("/oauth/revoke", "", content_type=FORM)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")


def test_json_is_no_form(code: str) -> None:
    assert APIClient().post("/oauth/token", {"code": code}, format="json").status_code == 415


OTHER_SITE = {"Origin": "https://browser-program.example"}


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/oauth/token", "POST"),
        ("/oauth/device", "POST"),
        ("/oauth/revoke", "POST"),
        ("/.well-known/oauth-authorization-server/oauth", "GET"),
        ("/.well-known/oauth-protected-resource/oauth/mcp", "GET"),
    ],
)
def test_a_program_in_a_browser_may_call_from_any_site(path: str, method: str) -> None:
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "mcp-protocol-version"}
    preflight = APIClient().options(path, headers={**OTHER_SITE, **asked})
    assert (preflight.status_code, preflight.content) == (204, b"")
    assert preflight["Access-Control-Allow-Origin"] == "*"
    assert method in preflight["Access-Control-Allow-Methods"].split(", ")
    assert "MCP-Protocol-Version" in preflight["Access-Control-Allow-Headers"].split(", ")
    assert not preflight.has_header("Access-Control-Allow-Credentials")
    answer = APIClient().generic(method, path, "", content_type=FORM, headers=OTHER_SITE)
    assert answer["Access-Control-Allow-Origin"] == "*"


def test_a_program_in_a_browser_reads_why_it_was_refused() -> None:
    for body, kind, status in (("x" * 10_000, FORM, 413), ("{}", "application/json", 415)):
        refused = APIClient().generic("POST", "/oauth/token", body, content_type=kind, headers=OTHER_SITE)
        assert (refused.status_code, refused["Access-Control-Allow-Origin"]) == (status, "*")
    assert "Access-Control-Allow-Origin" not in APIClient().get("/agents", headers=OTHER_SITE).headers
