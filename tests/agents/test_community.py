"""Agents made from personas of authors: they live on, whatever the author does."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from agents.running import pods
from catalog import snapshot
from tests.agents.conftest import settle, signed_in
from tests.catalog.writing import FULL, Writer
from tests.doubles.runtime import ScriptedRuntime

pytestmark = [pytest.mark.unmeasured, pytest.mark.usefixtures("catalog", "runtime")]


@pytest.fixture
def author(db: None) -> Writer:
    return Writer(User.objects.create_user("author@example.com"))


def _create(client: APIClient, persona_id: str, *, status: int = 200) -> Any:
    answer = client.post("/agents", {"personaId": persona_id, "tier": "tiny"}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_draft_makes_no_agents_not_even_its_authors(author: Writer, client: APIClient) -> None:
    draft = author.draft()
    snapshot.current()
    for who in (author.api, client):
        message = _create(who, draft["id"], status=400)["message"]
        assert message.startswith("personaId: ")
        assert "POST /personas/{id}/publish" in message
    author.post(f"/personas/{draft['id']}/publish")
    assert _create(client, draft["id"])["agent"]["name"] == draft["name"]  # at once, without waiting for a second


def test_an_agent_keeps_its_soul_until_it_is_rebuilt(author: Writer, client: APIClient) -> None:
    path = f"/personas/{author.published()['id']}"
    agent = settle(Agent.objects.get(pk=_create(client, path.rpartition("/")[2])["agent"]["id"]))
    for soul in ("You are another.", "You are a third."):
        before = agent.soul
        snapshot.current()
        author.patch(path, {"soul": soul})
        agent.refresh_from_db()
        assert agent.soul == before
        client.post(f"/agents/{agent.id}/rebuild")  # in the same second
        agent = settle(Agent.objects.get(pk=agent.pk))
        assert agent.soul == soul


def test_an_agent_made_in_the_second_of_a_change_has_what_the_author_wrote(author: Writer, client: APIClient) -> None:
    persona = author.published()
    snapshot.look()
    author.patch(f"/personas/{persona['id']}", {"soul": "You are another."})
    assert Agent.objects.get(pk=_create(client, persona["id"])["agent"]["id"]).soul == "You are another."


def test_an_agent_of_what_is_unpublished_or_deleted_runs_on_and_is_rebuilt(
    author: Writer, client: APIClient, runtime: ScriptedRuntime
) -> None:
    persona = author.published(recommendedModels=["openai:gpt-6-luna"])
    agent = settle(Agent.objects.get(pk=_create(client, persona["id"])["agent"]["id"]))
    key = {"provider": "openai", "key": "sk-1"}
    assert client.patch(f"/agents/{agent.id}/llm-key", key, format="json").status_code == 200
    author.refusal("DELETE", f"/personas/{persona['id']}", status=409)
    author.post(f"/personas/{persona['id']}/unpublish")
    snapshot.forget()
    agent = settle(Agent.objects.get(pk=agent.pk))
    assert (agent.status, pods._model_name(agent)) == ("running", "gpt-6-luna")
    client.post(f"/agents/{agent.id}/rebuild")
    agent = settle(Agent.objects.get(pk=agent.pk))
    assert (agent.status, agent.soul) == ("running", FULL["soul"])
    client.delete(f"/agents/{agent.id}")
    author.delete(f"/personas/{persona['id']}")


def test_whether_a_persona_is_used_is_found_by_an_index(author: Writer, client: APIClient) -> None:
    persona = author.published()
    _create(signed_in(User.objects.create_user("b@example.com")), persona["id"])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("DROP INDEX agent_domain_once")  # of the same rows, so it costs as little while there are few
    used = Agent.objects.live().filter(persona_id=persona["id"])
    assert "agent_persona" in used.explain()
    assert used.exists()
