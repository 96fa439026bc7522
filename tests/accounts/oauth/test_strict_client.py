"""The device grant with a strict client of other people: Authlib, from the metadata on (RFC 8414, RFC 8628)."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey, User
from tests.pages.account.visitor import Visitor, shown

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"


@pytest.mark.django_db(transaction=True)
def test_a_strict_client_gets_a_key_by_the_device_grant(live_server: LiveServer, owner: User, settings: Any) -> None:
    settings.BASE_URL = live_server.url
    found = requests.get(f"{live_server.url}/.well-known/oauth-authorization-server/oauth", timeout=30).json()
    about = AuthorizationServerMetadata(found)
    # Authlib holds an issuer to https, which a test's service has not.
    for check in about.REGISTRY_KEYS:
        if about.get(check) is not None and not str(about[check]).startswith("http://"):
            getattr(about, f"validate_{check}", lambda: None)()
    assert GRANT_TYPE in about["grant_types_supported"]
    assert about["code_challenge_methods_supported"] == ["S256"]

    asked = {"client_id": "agentpods-cli", "scope": "read"}
    device = requests.post(about["device_authorization_endpoint"], data=asked, timeout=30).json()
    wanted = {"grant_type": GRANT_TYPE, "device_code": device["device_code"]}
    with OAuth2Session("agentpods-cli", token_endpoint_auth_method="none") as client:  # a method's name
        with pytest.raises(AuthlibBaseError) as early:
            client.fetch_token(about["token_endpoint"], **wanted)
        assert early.value.error == "authorization_pending"
        visitor, page = Visitor(owner), "/oauth/activate"
        typed = shown(visitor.send(visitor.open(page), page, user_code=device["user_code"]))
        shown(visitor.send(typed, page, answer="allow", may="read", days="7"))
        token = client.fetch_token(about["token_endpoint"], **wanted)
        assert (token["token_type"], token["scope"]) == ("Bearer", "read")
        assert client.get(f"{live_server.url}/me", timeout=30).json()["user"]["email"] == owner.email
        with pytest.raises(AuthlibBaseError) as again:
            client.fetch_token(about["token_endpoint"], **wanted)
        assert again.value.error == "invalid_grant"
    assert ApiKey.objects.get(user=owner).scopes == ["read"]
