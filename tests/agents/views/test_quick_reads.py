"""The usual reads of agents with an API key: one statement, and the same answer as in the ordinary way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import ApiKey, User
from agents.models import Agent, AgentQuota, Desired
from config import sql
from config.compiled_query import CompiledQuery
from tests.agents.conftest import MakeAgent
from webhooks.models import Hook

ORDINARY: dict[str, Any] = {"HTTP_PREFER": "handling=lenient"}  # a request that is not quite the usual one
OWN = {"Request-Id", "Content-Length"}


@pytest.fixture
def keyed(owner: User) -> APIClient:
    secret = keys.create(owner, name="Reader", now=timezone.now())[1]
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    client.get("/agents")  # notes the key's use
    return client


def same_both_ways(client: APIClient, path: str, **headers: Any) -> Any:
    usual, ordinary = client.get(path, **headers), client.get(path, **headers, **ORDINARY)
    assert usual.content == ordinary.content
    assert usual.status_code == ordinary.status_code
    left, right = ({name: answer[name] for name in answer.headers if name not in OWN} for answer in (usual, ordinary))
    assert left == right
    return usual


def is_quick(answer: Any) -> bool:
    """Whether the answer was made in the quick way: it is none of the framework's."""
    return not hasattr(answer, "data")


def changed(agent: Agent, **values: Any) -> None:
    Agent.objects.filter(pk=agent.pk).update(**values)


def furnish(agent: Agent) -> None:
    """Give the agent everything that an agent can have."""
    changed(
        agent,
        name="Ünï\u2028\u2029 \"'</script>\\ 🙂",
        extra_soul="Line\nline\ttab\u007f",
        channels=["telegram", "web"],
        channel_secrets={"telegramToken": "1:a"},
        tools_enabled=["web"],
        mcp_servers=[
            {"name": "one", "command": "run", "args": ["a", ""], "env": {"KEY": "v"}},
            {"name": "two", "url": "https://mcp.example.com/x", "headers": {"X-Key": "é"}},
        ],
        a2a_enabled=True,
        a2a_token="a2a-secret",
        a2a_peers=[{"name": "Peer", "url": "https://peer.example.com", "token": "hidden"}],
        a2a_listed=True,
        dash_username="owner",
        dash_password="dash",
        dseq="17",
        endpoint_url="https://pod.example.com",
        llm_provider="openai",
        llm_key_hash="ab" * 32,
        model="gpt-6-luna",
        domain=f"{agent.pk[4:]}.example.com",
        timezone="Europe/Berlin",
        trial_notice_day=3,
        last_backup_at=timezone.now().replace(microsecond=0),
    )
    AgentQuota.objects.create(
        agent=agent,
        memory_used_bytes=7,
        memory_limit_bytes=2**40,
        disk_used_bytes=None,
        disk_total_bytes=2**62,
        status="warn",
        updated_at=timezone.now(),
    )
    hook = {"url": "https://hooks.example.com/x", "authority": "hooks.example.com", "secret": "s"}
    Hook.objects.create(agent=agent, created_at=timezone.now(), **hook)


def test_a_plain_agent_and_a_furnished_one_read_the_same_both_ways(keyed: APIClient, make_agent: MakeAgent) -> None:
    plain, furnished = make_agent(), make_agent()
    furnish(furnished)
    for agent in (plain, furnished):
        assert is_quick(same_both_ways(keyed, f"/agents/{agent.pk}"))
    body = keyed.get(f"/agents/{furnished.pk}").json()["agent"]
    assert (body["telegramTokenEnc"], body["a2aPeers"]) == (
        "set",
        [{"name": "Peer", "url": "https://peer.example.com"}],
    )
    assert "hidden" not in str(body)
    assert is_quick(same_both_ways(keyed, "/agents"))
    assert [agent["id"] for agent in keyed.get("/agents").json()["agents"]] == [furnished.pk, plain.pk]


def test_a_stale_snapshot_has_no_percentages_either_way(keyed: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent()
    furnish(agent)
    AgentQuota.objects.update(updated_at=timezone.now() - timedelta(minutes=6))
    assert same_both_ways(keyed, f"/agents/{agent.pk}").json()["agent"]["quota"]["memoryPct"] is None


def test_a_secret_whose_key_is_lost_is_read_in_the_ordinary_way(keyed: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE agents_agent SET dash_password = 'not sealed' WHERE id = %s", [agent.pk])
    usual, ordinary = keyed.get(f"/agents/{agent.pk}"), keyed.get(f"/agents/{agent.pk}", **ORDINARY)
    assert (usual.status_code, usual.content) == (200, ordinary.content)


def test_it_is_one_statement(keyed: APIClient, make_agent: MakeAgent) -> None:
    agents = [make_agent() for _ in range(3)]
    for agent in agents:
        furnish(agent)
    for path in ("/agents", f"/agents/{agents[0].pk}"):
        with CaptureQueriesContext(connection) as statements:
            keyed.get(path)
        assert len(statements) == 1


def test_a_known_agent_is_not_sent_again(keyed: APIClient, make_agent: MakeAgent) -> None:
    path = f"/agents/{make_agent().pk}"
    known = keyed.get(path)["ETag"]
    assert (same_both_ways(keyed, path, HTTP_IF_NONE_MATCH=known).status_code) == 304


def test_what_is_not_the_callers_is_refused_as_ever(keyed: APIClient, make_agent: MakeAgent, owner: User) -> None:
    deleted, other = make_agent(), make_agent()
    changed(deleted, desired=Desired.DELETED)
    changed(other, user=User.objects.create_user("another@example.com"))
    for path in (f"/agents/{deleted.pk}", f"/agents/{other.pk}", "/agents/agt_none", "/agents/%00"):
        assert same_both_ways(keyed, path).status_code == 404
    assert same_both_ways(keyed, "/agents").json() == {"agents": []}
    ApiKey.objects.update(revoked_at=timezone.now())
    mine = make_agent()
    assert same_both_ways(keyed, f"/agents/{mine.pk}").status_code == 401
    assert same_both_ways(keyed, "/agents").status_code == 401
    ApiKey.objects.update(revoked_at=None)
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert same_both_ways(keyed, f"/agents/{mine.pk}").status_code == 401


def test_the_use_of_the_key_is_noted(keyed: APIClient, make_agent: MakeAgent) -> None:
    agent = make_agent()
    before = timezone.now()
    ApiKey.objects.update(last_used_at=None)
    keys._noted.clear()  # this process noted it a moment ago
    keyed.get(f"/agents/{agent.pk}")
    noted = ApiKey.objects.get().last_used_at
    assert noted is not None
    assert noted >= before


def test_a_database_that_is_away_is_asked_once(
    keyed: APIClient, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("the server is away")

    path = f"/agents/{make_agent().pk}"
    monkeypatch.setattr(CompiledQuery, "rows", away)
    with CaptureQueriesContext(connection) as statements:
        answer = keyed.get(path)
    assert (answer.status_code, answer.json()["error"], len(statements)) == (503, "INTERNAL", 0)
    assert answer["Retry-After"]


@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_reads_only_still_answers(keyed: APIClient, make_agent: MakeAgent) -> None:
    path = f"/agents/{make_agent().pk}"
    ApiKey.objects.update(last_used_at=None)
    sql.execute("SET default_transaction_read_only = on")
    try:
        for headers in ({}, ORDINARY):
            keys._noted.clear()
            assert keyed.get(path, **headers).status_code == 200
    finally:
        sql.execute("SET default_transaction_read_only = off")
