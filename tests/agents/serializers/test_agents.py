"""SECRETS_KEYS no longer has the key of an agent's secrets. The owner can still see and repair the agent."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.utils import quote
from django.db.models import TextField, Value
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent, Status
from agents.running import reconciler
from tests.agents.conftest import MakeAgent, settle
from webhooks import hooks

pytestmark = pytest.mark.django_db

LOST = Fernet(Fernet.generate_key()).encrypt(b"x").decode()
SECRETS: dict[str, Any] = {
    "llm_provider": "openai",
    "llm_key": "sk-1",
    "tools": {"enabled": ["file", "a2a"], "mcp_servers": []},
}


def lose(agent: Agent, *columns: str) -> None:
    Agent.objects.filter(pk=agent.pk).update(**{column: Value(LOST, TextField()) for column in columns})


@pytest.fixture
def hurt(make_agent: MakeAgent) -> Agent:
    """A running agent that has lost all of its secrets."""
    agent = settle(make_agent(**SECRETS))
    lose(agent, "llm_key", "a2a_token", "mcp_servers", "channel_secrets", "a2a_peers", "management_token", "ticket_key")
    return agent


def test_the_list_answers_with_null_where_a_secret_is_lost(
    client: APIClient, hurt: Agent, make_agent: MakeAgent, caplog: pytest.LogCaptureFixture
) -> None:
    make_agent()
    with caplog.at_level(logging.ERROR, logger="config.crypto"):
        answers = [client.get("/agents") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    shown = next(agent for agent in answers[0].json()["agents"] if agent["id"] == hurt.pk)
    assert (shown["a2aToken"], shown["a2aPeers"], shown["telegramTokenEnc"]) == (None, None, None)
    assert shown["tools"] == {"enabled": ["file", "a2a"], "mcpServers": []}
    told = [record.__dict__ for record in caplog.records]
    assert {entry["row"] for entry in told} == {f"Agent {hurt.pk}"}
    assert len(told) == len({entry["column"] for entry in told}) == 7, "once for each"


def test_what_needs_the_secret_is_503_and_names_it(client: APIClient, hurt: Agent) -> None:
    answer = client.post(f"/agents/{hurt.pk}/chat", {"message": "hi"}, format="json")
    assert (answer.status_code, answer.json()["error"]) == (503, "INTERNAL")
    assert answer.json()["message"].startswith("management_token: cannot be decrypted any more")


def test_the_owner_mends_what_is_lost(client: APIClient, hurt: Agent) -> None:
    page = f"/agents/{hurt.pk}"
    assert client.patch(page, {"name": "Renamed"}, format="json").json()["agent"]["name"] == "Renamed"
    assert client.patch(f"{page}/llm-key", {"provider": "openai", "key": "sk-2"}, format="json").status_code == 200
    assert client.put(f"{page}/tools", {"enabled": ["file", "a2a"], "mcpServers": []}, format="json").status_code == 200
    hurt = Agent.objects.get(pk=hurt.pk)
    assert (hurt.llm_key, hurt.mcp_servers) == ("sk-2", [])
    assert client.delete(page).status_code == 204


def test_a_pod_that_cannot_be_given_its_secrets_fails_with_that_cause(client: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent(**SECRETS)
    lose(agent, "llm_key")
    for _ in range(3):
        Agent.objects.update(reconcile_at=agent.created_at)
        reconciler.reconcile_due()
    assert Agent.objects.values_list("status", flat=True).get() == Status.FAILED
    told = client.get(f"/agents/{agent.pk}/explain").json()["explanation"]
    assert (told["cause"], told["message"].split(":")[0]) == ("SECRET_LOST", "llm_key")


def test_a_webhook_is_rotated_out_of_a_lost_secret(client: APIClient, running: Agent) -> None:
    hooks.install(running, url="https://receiver.example.com/", now=running.created_at)
    type(running.hook).objects.update(secret=Value(LOST, TextField()))
    answer = client.put(f"/agents/{running.pk}/webhook", {"url": "https://93.184.216.34/"}, format="json")
    assert answer.status_code == 200
    hook = type(running.hook).objects.get()
    assert (hook.secret, hook.previous_secret) == (answer.json()["webhook"]["secret"], None)


def test_the_console_shows_the_agent(hurt: Agent) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("op@example.com"))
    assert console.get(f"/admin/agents/agent/{quote(hurt.pk)}/change/").status_code == 200
