"""The official client connects to `/oauth/mcp` as connectors do: it finds OAuth by itself, and a person consents."""

from __future__ import annotations

import asyncio
import json
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pytest_django.live_server_helper import LiveServer

from accounts import keys
from accounts.models import ApiKey, User
from tests.doubles.certificates import Certificates
from tests.doubles.receiver import Receiver, status
from tests.doubles.runtime import ScriptedRuntime
from tests.pages.account.visitor import Visitor

BACK = "http://127.0.0.1:33418/back"


class ClientStore:
    """What the client keeps between its starts."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class ConsentingPerson:
    """Opens the address that the client gives, and answers."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.back: dict[str, str] = {}

    async def goes(self, address: str) -> None:
        parts = urlsplit(address)
        location = await asyncio.to_thread(self._answers, f"{parts.path}?{parts.query}")
        self.back = dict(parse_qsl(urlsplit(location).query))

    def _answers(self, place: str) -> str:
        visitor = Visitor(self.user)
        answer = visitor.send(visitor.open(place), place, answer="allow", may="read", days="7")
        return str(answer.headers["Location"])

    async def comes_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=self.back["code"], state=self.back["state"], iss=self.back["iss"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
def test_a_connector_finds_its_way_and_gets_a_limited_key(
    live_server: LiveServer,
    owner: User,
    catalog: None,
    runtime: ScriptedRuntime,
    trusted: Certificates,
    settings: Any,
    era: str,
) -> None:
    settings.BASE_URL = live_server.url
    settings.WEBHOOK_ALLOWED_CIDRS = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
    person, kept = ConsentingPerson(owner), ClientStore()
    with Receiver(tls=trusted.server("localhost"), host="localhost").listening() as host:
        about = {"client_id": host.url, "client_name": "Connector", "redirect_uris": [BACK]}
        host.answers(status(200, "Content-Type: application/json", body=json.dumps(about).encode()))
        told = asyncio.run(_agents(live_server.url, host.url, era, person, kept))
    assert told == {"agents": []}
    (key,) = ApiKey.objects.filter(user=owner)
    assert (key.name, key.scopes) == ("Connector (localhost)", ["read"])
    assert kept.tokens is not None
    assert kept.tokens.access_token.startswith(keys.SECRET_PREFIX)
    assert len(host.received) == 1


async def _agents(url: str, document: str, era: str, person: ConsentingPerson, kept: ClientStore) -> Any:
    metadata = OAuthClientMetadata(client_name="Connector", redirect_uris=[BACK], token_endpoint_auth_method="none")  # type: ignore[list-item]
    signing_in = OAuthClientProvider(
        f"{url}/oauth/mcp", metadata, kept, person.goes, person.comes_back, client_metadata_url=document
    )
    async with httpx2.AsyncClient(auth=signing_in, timeout=120) as http:
        transport = streamable_http_client(f"{url}/oauth/mcp", http_client=http)
        async with Client(transport, mode=era) as client:
            found = await client.call_tool("list_agents", {})
            return found.structured_content
