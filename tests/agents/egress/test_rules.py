"""An owner sets which hosts the engine may ask, and secrets that only the gateway has."""

from __future__ import annotations

import json
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from agents import personal
from agents.egress import rules
from agents.egress.models import Egress, EgressHost
from agents.models import Agent, Transition
from agents.running import lifecycle, pods, reconciler
from tests.agents.conftest import MakeAgent, settle

VALUE = "ghp_0123456789abcdefghijklmnop"
NOTHING = {"allowList": "off", "hosts": [], "secrets": [], "enforced": False}
GITHUB = {"hosts": ["api.github.com"], "header": "Authorization", "prefix": "Bearer ", "value": VALUE}


@pytest.fixture
def agent(make_agent: MakeAgent) -> Agent:
    return settle(make_agent())


def put(client: APIClient, agent: Agent, **body: Any) -> Any:
    return client.put(f"/agents/{agent.pk}/egress", body, format="json")


def put_secret(client: APIClient, agent: Agent, name: str = "GITHUB_TOKEN", **changed: Any) -> Any:
    body = {key: value for key, value in {**GITHUB, **changed}.items() if value is not None}
    return client.put(f"/agents/{agent.pk}/egress/secrets/{name}", body, format="json")


def test_the_list_is_set_all_at_once_and_read_again(client: APIClient, agent: Agent) -> None:
    assert client.get(f"/agents/{agent.pk}/egress").json() == {"egress": NOTHING}
    answer = put(client, agent, allowList="on", hosts=["Example.COM.", "*.example.org", "db.example.net:5432"])
    hosts = ["example.com", "*.example.org", "db.example.net:5432"]
    assert answer.json() == {"egress": {**NOTHING, "allowList": "on", "hosts": hosts}}
    assert put(client, agent, allowList="off").json() == {"egress": NOTHING}


def test_a_secret_is_never_shown_nor_stored_in_clear(client: APIClient, agent: Agent) -> None:
    answer = put_secret(client, agent)
    shown = answer.json()["egress"]["secrets"]
    assert answer.status_code == 200
    assert [(one["name"], one["hosts"], one["header"], one["prefix"]) for one in shown] == [
        ("GITHUB_TOKEN", ["api.github.com"], "Authorization", "Bearer ")
    ]
    told = [answer.content, client.get(f"/agents/{agent.pk}/egress").content, client.get(f"/agents/{agent.pk}").content]
    assert not any(VALUE.encode() in one for one in told)
    assert VALUE not in json.dumps(list(personal.exported(agent.user)), default=str)
    assert VALUE not in "".join(Transition.objects.filter(agent=agent).values_list("note", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets FROM agents_egress")
        assert VALUE not in cursor.fetchone()[0]


def test_a_dry_run_keeps_nothing(client: APIClient, agent: Agent) -> None:
    url = f"/agents/{agent.pk}/egress/secrets/GITHUB_TOKEN?dryRun=true"
    answer = client.put(url, GITHUB, format="json")
    assert (answer.status_code, VALUE.encode() in answer.content) == (200, False)
    assert not Egress.objects.exists()


def test_the_gateway_has_the_secret_and_the_engine_only_the_authority(client: APIClient, agent: Agent) -> None:
    before = pods.spec_of(agent)
    assert before.egress_limited is None
    assert (before.secrets.egress, before.config.egress_authority) == ({}, "")
    put_secret(client, agent)
    agent = Agent.objects.get(pk=agent.pk)
    spec = pods.spec_of(agent)
    assert spec.secrets.egress["secrets"] == [{key: GITHUB[key] for key in ("hosts", "header", "prefix", "value")}]
    assert spec.config.egress_authority.startswith("-----BEGIN CERTIFICATE-----")
    assert spec.config.egress_authority == pods.config_of(agent).egress_authority
    assert VALUE not in json.dumps(spec.config.told())
    assert (spec.egress_limited, spec.config.egress_limited) == (False, False)
    put(client, agent, allowList="on")
    spec = pods.spec_of(Agent.objects.get(pk=agent.pk))
    assert (spec.egress_limited, spec.config.egress_limited) == (True, True)
    assert agent.spec_revision == before.config.revision + 1  # the change of the secret alone


def test_an_agent_without_the_broker_gets_nothing_that_an_older_pod_does_not_know(agent: Agent) -> None:
    assert "egress" not in pods.secrets_of(agent).told()
    assert "egress_authority" not in pods.config_of(agent).told()


def test_what_is_not_given_of_a_secret_stays_but_new_hosts_need_it_again(client: APIClient, agent: Agent) -> None:
    put_secret(client, agent, hosts=["api.github.com", "uploads.github.com"])
    assert put_secret(client, agent, value=None, prefix="token ", hosts=["api.github.com"]).status_code == 200
    assert pods.secrets_of(Agent.objects.get(pk=agent.pk)).egress["secrets"][0]["value"] == VALUE
    refused = put_secret(client, agent, value=None, hosts=["api.github.com", "evil.example.com"])
    assert (refused.status_code, "value" in refused.json()["message"]) == (400, True)


def test_a_secret_is_forgotten(client: APIClient, agent: Agent) -> None:
    put_secret(client, agent)
    url = f"/agents/{agent.pk}/egress/secrets/GITHUB_TOKEN"
    assert client.delete(url).status_code == 204
    assert client.get(f"/agents/{agent.pk}/egress").json() == {"egress": NOTHING}
    assert client.delete(url).status_code == 404
    assert pods.secrets_of(Agent.objects.get(pk=agent.pk)).egress == {}


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("", "hosts"),
        ("*", "hosts[0]"),
        ("*.", "hosts[0]"),
        ("*.*.example.com", "hosts[0]"),
        ("a*.example.com", "hosts[0]"),
        ("localhost", "with a dot"),
        ("https://example.com", "hosts[0]"),
        ("example.com/path", "hosts[0]"),
        ("user@example.com", "hosts[0]"),
        ("127.0.0.1", "not an address"),
        ("0x7f.1", "not an address"),
        ("2130706433", "not an address"),
        ("[::1]", "not an address"),
        ("example.com:0", "port"),
        ("example.com:65536", "port"),
        ("example.com:", "port"),
        ("bücher.example", "xn--"),
        ("exa mple.com", "hosts[0]"),
        ("example..com", "hosts[0]"),
        ("example.com\r\nX: y", "hosts[0]"),
        ("a" * 64 + ".com", "hosts[0]"),
        ("a." * 130 + "com", "hosts[0]"),
    ],
)
def test_a_wrong_host_is_refused_by_its_place(client: APIClient, agent: Agent, host: str, words: str) -> None:
    answer = put(client, agent, allowList="on", hosts=[host])
    assert answer.status_code == 400
    assert "hosts" in answer.json()["message"]
    assert words in answer.json()["message"]
    assert not Egress.objects.filter(is_limited=True).exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", "short"),
        ("value", "x" * 4097),
        ("value", "line one\r\nX-Evil: 1"),
        ("value", " padded-with-space"),
        ("value", "not-ascii-é-0123"),
        ("prefix", "Bearer\r\n"),
        ("prefix", "x" * 33),
        ("header", "Host"),
        ("header", "content-length"),
        ("header", "Transfer-Encoding"),
        ("header", "Proxy-Authorization"),
        ("header", "X Evil"),
        ("header", "X-Evil:"),
        ("header", ""),
        ("hosts", []),
        ("hosts", ["a.example.com"] * 17),
        ("hosts", "api.github.com"),
    ],
)
def test_a_wrong_secret_is_refused_by_its_field(client: APIClient, agent: Agent, field: str, value: Any) -> None:
    answer = put_secret(client, agent, **{field: value})
    assert (answer.status_code, field in answer.json()["message"]) == (400, True)
    assert VALUE not in answer.json()["message"]
    assert not any(rules.of(agent).secrets)


def test_only_one_secret_can_use_a_header_at_a_host(client: APIClient, agent: Agent) -> None:
    put_secret(client, agent, hosts=["*.github.com"])
    refused = put_secret(client, agent, name="OTHER", hosts=["api.github.com"], header="authorization")
    assert (refused.status_code, "GITHUB_TOKEN" in refused.json()["message"]) == (400, True)
    assert put_secret(client, agent, name="OTHER", hosts=["api.github.com"], header="X-Other").status_code == 200


def test_there_is_an_end_to_hosts_and_secrets(client: APIClient, agent: Agent) -> None:
    many = [f"h{number}.example.com" for number in range(201)]
    assert put(client, agent, allowList="on", hosts=many[:200]).status_code == 200
    assert put(client, agent, allowList="on", hosts=many).status_code == 400
    stored = [{**GITHUB, "name": f"S{number}", "hosts": [many[number]], "set_at": None} for number in range(32)]
    Egress.objects.filter(pk=agent.pk).update(secrets=stored)
    answer = put_secret(client, agent)
    assert (answer.status_code, "32" in answer.json()["message"]) == (400, True)


def test_strangers_neither_see_nor_set_anything(other: APIClient, agent: Agent) -> None:
    assert other.get(f"/agents/{agent.pk}/egress").status_code == 404
    assert other.get(f"/agents/{agent.pk}/egress/log").status_code == 404
    assert put(other, agent, allowList="on").status_code == 404
    assert put_secret(other, agent).status_code == 404


def test_a_limited_key_cannot_open_the_list_for_itself(client: APIClient, agent: Agent) -> None:
    made = client.post("/keys", {"name": "engine", "scopes": ["operate"], "agentId": agent.pk}, format="json").json()
    limited = APIClient()
    limited.credentials(HTTP_AUTHORIZATION=f"Bearer {made['key']['key'] if 'key' in made['key'] else made['secret']}")
    assert limited.get(f"/agents/{agent.pk}/egress").status_code == 200
    assert put(limited, agent, allowList="off").status_code == 403
    assert put_secret(limited, agent).status_code == 403
    assert limited.delete(f"/agents/{agent.pk}/egress/secrets/X").status_code == 403


def test_a_change_needs_the_agent_as_it_was_read(client: APIClient, agent: Agent) -> None:
    url = f"/agents/{agent.pk}/egress"
    answer = client.put(url, {"allowList": "on"}, format="json", headers={"If-Match": '"another"'})
    assert answer.status_code == 412
    assert not Egress.objects.filter(is_limited=True).exists()


def test_who_changed_what_is_on_the_timeline(client: APIClient, agent: Agent) -> None:
    put(client, agent, allowList="on", hosts=["example.com"])
    put_secret(client, agent)
    notes = list(Transition.objects.filter(agent=agent, note__startswith="egress").values_list("note", "actor"))
    assert sorted(note for note, _ in notes) == ["egress list on: 1 hosts", "egress secret GITHUB_TOKEN set"]
    assert {actor for _, actor in notes} == {f"user:{agent.user_id}"}


def test_a_deleted_agent_leaves_neither_secret_nor_log(client: APIClient, agent: Agent) -> None:
    put_secret(client, agent)
    EgressHost.objects.create(agent=agent, day="2026-11-28", host="api.github.com:443", count=1)
    lifecycle.delete(agent, actor="user:x")
    for _ in range(3):
        reconciler.reconcile(agent.pk)
    assert Agent.objects.get(pk=agent.pk).status == "deleted"
    assert (Egress.objects.count(), EgressHost.objects.count()) == (0, 0)


def test_the_gateway_is_told_the_networks_of_pods_and_not_those_of_peers(
    client: APIClient, agent: Agent, settings: Settings
) -> None:
    settings.POD_EGRESS_CIDRS = [ip_network("10.7.0.0/16")]
    settings.PEER_ALLOWED_CIDRS = [ip_network("10.8.0.0/16")]
    put(client, agent, allowList="on", hosts=["example.com"])
    told = pods.secrets_of(Agent.objects.get(pk=agent.pk))
    assert told.egress["networks"] == ["10.7.0.0/16"]
    assert told.peer_networks == ["10.8.0.0/16", "10.7.0.0/16"]
