"""The key and certificate of an agent's gateway: one for all workers, encrypted, and needed for every call."""

from __future__ import annotations

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agents.models import Agent
from agents.running import identity, pods
from agents.runtimes.base import Endpoint
from tests.agents.conftest import GatewayOf, MakeAgent, settle
from tests.doubles.impostor import Impostor
from tests.doubles.runtime import ScriptedRuntime


def test_the_first_step_of_a_pod_makes_it_and_it_stays(make_agent: MakeAgent, runtime: ScriptedRuntime) -> None:
    agent = settle(make_agent())
    given = runtime.pods[agent.namespace].spec.identity
    assert given.certificate == agent.gateway_certificate
    assert given.key == agent.gateway_key
    assert pods.spec_of(identity.ensured(agent)).identity == given


def test_an_agent_of_a_release_without_certificates_is_given_one_with_its_next_deploy(
    running: Agent, runtime: ScriptedRuntime
) -> None:
    Agent.objects.filter(pk=running.pk).update(gateway_key=None, gateway_certificate="")
    runtime.set(running.namespace, gateway_alive=False)
    agent = settle(running)
    assert agent.gateway_certificate
    assert runtime.pods[agent.namespace].spec.identity.certificate == agent.gateway_certificate


def test_two_workers_give_one_agent_one_identity(make_agent: MakeAgent) -> None:
    agent = make_agent()
    one, two = Agent.objects.get(pk=agent.pk), Agent.objects.get(pk=agent.pk)
    assert identity.ensured(one).gateway_key == identity.ensured(two).gateway_key


def test_two_agents_have_two(make_agent: MakeAgent) -> None:
    assert identity.ensured(make_agent()).gateway_key != identity.ensured(make_agent()).gateway_key


def test_the_key_is_sealed_in_the_database(running: Agent) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT gateway_key FROM agents_agent WHERE id = %s", [running.pk])
        (stored,) = cursor.fetchone()
    assert "PRIVATE KEY" in running.gateway_key
    assert "PRIVATE KEY" not in stored


def test_no_answer_of_the_api_shows_key_or_certificate(client: APIClient, running: Agent) -> None:
    for path in ("", "/explain", "/liveness", "/quota"):
        body = client.get(f"/agents/{running.pk}{path}").content.decode()
        assert "PRIVATE KEY" not in body
        assert "CERTIFICATE" not in body


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_chat_with_an_impostor_is_503_of_the_gateway_and_tells_it_nothing(
    client: APIClient, running: Agent, runtime: ScriptedRuntime, accept: str
) -> None:
    with Impostor() as impostor:
        runtime.addresses[running.namespace] = Endpoint(public_url=impostor.url, management_url=impostor.url)
        asked = {"message": "between us alone"}
        answer = client.post(f"/agents/{running.pk}/chat", asked, format="json", HTTP_ACCEPT=accept)
        assert impostor.called.wait(5)
    assert answer.status_code == 503
    assert "gateway" in answer.json()["message"]
    assert running.management_token.encode() not in impostor.told
    assert b"between us" not in impostor.told


def test_an_impostor_does_not_pass_the_talk_test_nor_is_it_explained_as_well(
    client: APIClient, running: Agent, runtime: ScriptedRuntime
) -> None:
    with Impostor() as impostor:
        runtime.addresses[running.namespace] = Endpoint(public_url=impostor.url, management_url=impostor.url)
        hops = client.post(f"/agents/{running.pk}/talk-test").json()["talkTest"]["hops"]
    assert [(hop["hop"], hop["ok"]) for hop in hops[:3]] == [("gateway", False), ("engine", False), ("model", False)]
    assert running.management_token.encode() not in impostor.told


def test_the_gateway_of_another_agent_is_not_taken_for_this_ones(
    client: APIClient, running: Agent, make_agent: MakeAgent, gateway_of: GatewayOf, runtime: ScriptedRuntime
) -> None:
    other = settle(make_agent())
    gateway_of(other)
    runtime.addresses[running.namespace] = runtime.addresses[other.namespace]
    assert client.post(f"/agents/{other.pk}/chat", {"message": "hi"}, format="json").status_code == 200
    answer = client.post(f"/agents/{running.pk}/chat", {"message": "hi"}, format="json")
    assert answer.status_code == 503
    assert "does not prove" in answer.json()["message"]
