"""`PUT /agents/{id}/a2a`: one call for the switch, the listing, the peers and their tokens."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import pods
from tests.agents.conftest import settle

ANN = {"name": "ann", "url": "https://ann.example.com/a2a"}
BOB = {"name": "bob", "url": "https://bob.example.com/a2a", "token": "bobs-token"}


def put(client: APIClient, agent: Agent, **body: Any) -> Any:
    answer = client.put(f"/agents/{agent.pk}/a2a", body, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()["agent"]


def refused(client: APIClient, agent: Agent, **body: Any) -> tuple[int, str]:
    answer = client.put(f"/agents/{agent.pk}/a2a", body, format="json")
    return answer.status_code, answer.json()["message"]


def tokens(agent: Agent) -> dict[str, str | None]:
    return {peer["name"]: peer.get("token") for peer in Agent.objects.get(pk=agent.pk).a2a_peers or []}


def test_on_mints_a_token_and_an_address_and_off_takes_both_away(client: APIClient, running: Agent) -> None:
    on = put(client, running, enabled=True)
    assert on["a2aToken"]
    assert on["a2aUrl"].endswith("/a2a")
    assert put(client, running, enabled=True)["a2aToken"] == on["a2aToken"]
    off = put(client, running, enabled=False)
    assert (off["a2aToken"], off["a2aUrl"]) == (None, None)
    assert put(client, running, enabled=True)["a2aToken"] not in {None, on["a2aToken"]}


def test_another_token_is_made_when_asked_for(client: APIClient, running: Agent) -> None:
    first = put(client, running, enabled=True)["a2aToken"]
    assert put(client, running, enabled=True, rotateToken=False)["a2aToken"] == first
    assert put(client, running, enabled=True, rotateToken=True)["a2aToken"] not in {None, first}


def test_the_toolset_says_the_same_as_the_switch_once_toolsets_were_chosen(client: APIClient, running: Agent) -> None:
    assert put(client, running, enabled=True)["tools"] is None
    client.put(f"/agents/{running.pk}/tools", {"enabled": ["file"], "mcpServers": []}, format="json")
    assert client.get(f"/agents/{running.pk}").json()["agent"]["a2aToken"] is None
    assert put(client, running, enabled=True)["tools"]["enabled"] == ["file", "a2a"]
    assert put(client, running, enabled=True)["tools"]["enabled"] == ["file", "a2a"]
    assert put(client, running, enabled=False)["tools"]["enabled"] == ["file"]


def test_a_listing_is_kept_until_its_owner_says_otherwise(client: APIClient, running: Agent) -> None:
    assert put(client, running, enabled=True, listed=True)["a2aListed"] is True
    assert put(client, running, enabled=True)["a2aListed"] is True
    client.put(f"/agents/{running.pk}/tools", {"enabled": ["file"], "mcpServers": []}, format="json")
    client.put(f"/agents/{running.pk}/tools", {"enabled": ["file", "a2a"], "mcpServers": []}, format="json")
    assert client.get(f"/agents/{running.pk}").json()["agent"]["a2aListed"] is True
    assert put(client, running, enabled=True, listed=False)["a2aListed"] is False


def test_peers_are_replaced_and_their_tokens_are_kept_by_name_and_never_shown(
    client: APIClient, running: Agent
) -> None:
    assert put(client, running, enabled=True)["a2aPeers"] is None
    shown = put(client, running, enabled=True, peers=[ANN, BOB])
    assert shown["a2aPeers"] == [ANN, {"name": "bob", "url": BOB["url"]}]
    assert "bobs-token" not in str(shown)
    moved = {"name": "bob", "url": "https://BOB.example.com/new/a2a"}
    assert put(client, running, enabled=True, peers=[moved])["a2aPeers"] == [moved]
    assert tokens(running) == {"bob": "bobs-token"}
    put(client, running, enabled=True)
    assert tokens(running) == {"bob": "bobs-token"}
    put(client, running, enabled=True, peers=[{**moved, "token": "another"}, ANN])
    assert tokens(running) == {"bob": "another", "ann": None}
    put(client, running, enabled=True, peers=[{**moved, "token": None}])
    assert tokens(running) == {"bob": None}
    assert put(client, running, enabled=True, peers=[])["a2aPeers"] == []


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example.com/a2a",
        "http://bob.example.com/a2a",
        "https://bob.example.com:8443/a2a",
        "https://bob.example.com.elsewhere.example.com/a2a",
    ],
)
def test_a_token_is_not_sent_to_another_host_by_somebody_who_does_not_know_it(
    client: APIClient, running: Agent, url: str
) -> None:
    put(client, running, enabled=True, peers=[BOB])
    put(client, running, enabled=True, peers=[{"name": "bob", "url": url}])
    assert tokens(running) == {"bob": None}
    put(client, running, enabled=True, peers=[{"name": "bob", "url": BOB["url"]}])
    assert tokens(running) == {"bob": None}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "enabled"),
        ({"enabled": "yes"}, "enabled"),
        ({"enabled": False, "listed": True}, "listed: needs enabled"),
        ({"enabled": False, "rotateToken": True}, "rotateToken: needs enabled"),
        ({"enabled": True, "peers": [ANN, ANN]}, "peers[1].name: 'ann' comes twice"),
        ({"enabled": True, "peers": [{"name": "ann", "url": "ftp://ann.example.com"}]}, "peers[0].url"),
        ({"enabled": True, "peers": [{"name": "ann", "url": "nowhere"}]}, "peers[0].url"),
        ({"enabled": True, "peers": [{"name": "ann", "url": "https://bob.example.com@ann.example.com/"}]}, "in token"),
        ({"enabled": True, "peers": [{"name": "ann"}]}, "peers[0].url"),
        ({"enabled": True, "peers": [{**ANN, "token": 5}]}, "peers[0].token"),
        ({"enabled": True, "peers": [{**ANN, "token": "x" * 1001}]}, "peers[0].token"),
        ({"enabled": True, "peers": [ANN] * 21}, "peers: has 21 elements; at most 20"),
        ({"enabled": True, "peers": None}, "peers"),
        ({"enabled": True, "mcpServers": []}, "mcpServers: this call does not take it"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_and_nothing_is_changed(
    client: APIClient, running: Agent, body: dict[str, Any], named: str
) -> None:
    before = put(client, running, enabled=True, listed=True, peers=[BOB])
    status, message = refused(client, running, **body)
    assert (status, named in message) == (400, True), message
    assert client.get(f"/agents/{running.pk}").json()["agent"] == before


def test_the_pod_gets_it_as_a_new_revision(client: APIClient, running: Agent) -> None:
    before = running.spec_revision
    put(client, running, enabled=True, peers=[BOB])
    agent = settle(running)
    assert agent.spec_revision == before + 1
    assert agent.status == "running"


def test_nobody_sets_it_of_anothers_agent(other: APIClient, running: Agent) -> None:
    assert refused(other, running, enabled=True)[0] == 404


def test_a_peers_token_is_for_the_gateway_alone_and_only_while_a2a_is_on(client: APIClient, running: Agent) -> None:
    put(client, running, enabled=True, peers=[BOB])
    running.refresh_from_db()
    assert pods.config_of(running).has_peers
    assert BOB["token"] not in repr(dataclasses.asdict(pods.config_of(running)))
    assert pods.secrets_of(running).a2a_peers == [BOB]
    put(client, running, enabled=False)
    running.refresh_from_db()
    assert (pods.config_of(running).has_peers, pods.secrets_of(running).a2a_peers) == (False, [])
