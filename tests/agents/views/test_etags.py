"""`ETag`, `If-None-Match`, `If-Match` and `fields` of agents."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from agents.configuring import profile
from agents.models import Agent, AgentQuota
from agents.running import lifecycle
from tests.agents.conftest import MakeAgent


def etag(client: APIClient, agent: Agent) -> str:
    return client.get(f"/agents/{agent.pk}")["ETag"]


def rename(client: APIClient, agent: Agent, if_match: str) -> int:
    return client.patch(f"/agents/{agent.pk}", {"name": "Another"}, format="json", HTTP_IF_MATCH=if_match).status_code


def test_an_agent_that_is_known_is_not_sent_again(client: APIClient, running: Agent) -> None:
    known = etag(client, running)
    again = client.get(f"/agents/{running.pk}", HTTP_IF_NONE_MATCH=f'"x", {known}')
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", known)
    AgentQuota.objects.create(agent=running, memory_used_bytes=5, updated_at=timezone.now())
    assert client.get(f"/agents/{running.pk}", HTTP_IF_NONE_MATCH=known).status_code == 200


@pytest.mark.parametrize("query", ["", "?unknown=1"])
def test_a_weak_etag_and_a_star_name_the_agent_too(client: APIClient, running: Agent, query: str) -> None:
    """A proxy that compresses answers makes their ETags weak."""
    known = etag(client, running)
    for header in (f"W/{known}", f'"x", W/{known}', "*"):
        assert client.get(f"/agents/{running.pk}{query}", HTTP_IF_NONE_MATCH=header).status_code == 304, header
    assert client.get(f"/agents/{running.pk}{query}", HTTP_IF_NONE_MATCH='W/"x"').status_code == 200


def test_a_change_is_made_to_the_agent_that_was_read_and_to_no_other(client: APIClient, running: Agent) -> None:
    read = etag(client, running)
    profile.change(running, lang="ru")
    refused = client.patch(f"/agents/{running.pk}", {"name": "Another"}, format="json", HTTP_IF_MATCH=read)
    assert (refused.status_code, refused.json()["error"]) == (412, "CONFLICT")
    assert refused.json()["message"].startswith("If-Match: ")
    changed = client.patch(
        f"/agents/{running.pk}", {"name": "Another"}, format="json", HTTP_IF_MATCH=etag(client, running)
    )
    assert changed.json()["agent"]["name"] == "Another"
    assert changed["ETag"] == etag(client, running)


def test_what_is_measured_stops_no_change(client: APIClient, running: Agent) -> None:
    read = etag(client, running)
    AgentQuota.objects.create(agent=running, memory_used_bytes=5, updated_at=timezone.now())
    Agent.objects.update(last_backup_at=timezone.now() + timedelta(seconds=1), trial_notice_day=3)
    assert rename(client, running, read) == 200


@pytest.mark.parametrize(("header", "status"), [("*", 200), ('"0"', 412), ("", 412), ("x" * 4000, 412), ('W/"*"', 412)])
def test_any_if_match_is_an_answer(client: APIClient, running: Agent, header: str, status: int) -> None:
    assert rename(client, running, header) == status


def test_a_change_between_reading_and_locking_is_seen(
    client: APIClient, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody changes the agent after this call has looked at it, and before it locks it."""
    read, delete = etag(client, running), lifecycle.delete

    def overtaken(agent: Agent, **given: str) -> Agent:
        Agent.objects.update(name="Overtaken")
        return delete(agent, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(lifecycle, "delete", overtaken)
    assert client.delete(f"/agents/{running.pk}", HTTP_IF_MATCH=read).status_code == 412
    assert Agent.objects.get().desired == "running"
    monkeypatch.undo()
    assert client.delete(f"/agents/{running.pk}").status_code == 204  # nothing is left of the expectation


def test_the_names_that_a_caller_chooses_are_measured_as_text(client: APIClient, running: Agent) -> None:
    refused = client.get(f"/agents/{running.pk}?fields={','.join(['id'] * 1_000)}")
    assert refused.status_code == 400
    assert refused.json()["message"] == "fields: has 2999 characters; at most 2000"


def test_a_caller_chooses_fields(client: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent()
    make_agent()
    one = client.get(f"/agents/{agent.pk}?fields=id, status,webhookUrl")
    assert one.json() == {"agent": {"id": agent.pk, "status": "provisioning"}}
    assert not one.has_header("ETag")
    page = client.get("/agents?fields=id,dashPassword&limit=1")
    assert [set(row) for row in page.json()["agents"]] == [{"id", "dashPassword"}]
    assert "fields=id%2CdashPassword" in page["Link"]


@pytest.mark.parametrize("fields", ["nonsense", "id,,name", "x" * 3000, "id;name", "llm_key"])
def test_a_field_that_does_not_exist_is_refused(client: APIClient, running: Agent, fields: str) -> None:
    for path in ("/agents", f"/agents/{running.pk}"):
        refused = client.get(path, {"fields": fields})
        assert (refused.status_code, refused.json()["message"][:8]) == (400, "fields: ")
