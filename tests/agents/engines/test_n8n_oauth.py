"""OAuth services that n8n's owner connects: they lead the owner back to the address where he sees the editor.

His login at that address is not valid at the agent's other addresses, and the page that waits for the service's answer
is only at that address.
"""

from __future__ import annotations

import pytest
import requests

from tests.agents.engines.conftest import EnginePod
from tests.agents.engines.test_n8n_owner import N8nOwner, start
from tests.doubles.oauth_service import TOKEN, OauthService

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["n8n"], indirect=True)]
CALLBACK = "/rest/oauth2-credential/callback"


def connect(owner: N8nOwner, service: OauthService) -> str:
    """Make a credential and accept it at the service. Returns the page to which the service leads the owner back."""
    data = {
        "grantType": "authorizationCode",
        "authUrl": f"{service.url}/authorize",
        "accessTokenUrl": f"{service.url}/token",
        "clientId": "editor",
        "clientSecret": "secret-of-the-client",
        "authentication": "body",
    }
    made = owner.done("POST", "/rest/credentials", {"name": "Service", "type": "oAuth2Api", "data": data})
    asked = owner.done("GET", f"/rest/oauth2-credential/auth?id={made['id']}")
    back = requests.get(asked, allow_redirects=False, timeout=10).headers["Location"]
    assert back.startswith(f"{owner.address}{CALLBACK}?")
    shown = owner.ask("GET", back.removeprefix(owner.address))
    assert shown.ok
    kept = owner.done("GET", f"/rest/credentials/{made['id']}?includeData=true")["data"]
    assert kept.get("oauthTokenData") is True, shown.text[:2000]
    assert TOKEN not in str(kept)
    return shown.text


def test_a_service_leads_him_back_to_each_address_where_he_sees_the_editor(pod: EnginePod) -> None:
    owner = start(pod, public_url="http://ada.agents.example")
    with OauthService() as service:
        for address in ("http://ada.agents.example", "http://shop.example", ""):
            owner = N8nOwner(pod, address=address)
            callbacks = owner.done("GET", "/rest/settings")["oauthCallbackUrls"]
            assert callbacks["oauth2"] == f"{owner.address}{CALLBACK}"
            connect(owner, service)
            assert service.granted[-1] == f"{owner.address}{CALLBACK}"
        assert len(service.granted) == 3
    stranger = requests.get(f"{owner.root}{CALLBACK}?code=1&state=2", timeout=10)
    assert stranger.status_code == 404
