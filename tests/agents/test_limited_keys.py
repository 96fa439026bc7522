"""A key for one agent sees that agent alone, and a key that may only read sees no secret."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from accounts import keys
from accounts.keys import KeyLimits
from accounts.models import ApiKey, User
from accounts.scopes import Scope
from agents.models import Agent
from tests.accounts.conftest import with_token
from tests.agents.conftest import MakeAgent, settle
from tests.agents.views.test_quick_reads import furnish, is_quick, same_both_ways

pytestmark = pytest.mark.django_db

Keyed = Callable[..., APIClient]


@pytest.fixture
def keyed(owner: User) -> Keyed:
    """`keyed(scopes={Scope.READ}, agent_id=…)`: a client with such a key."""

    def client(**limits: Any) -> APIClient:
        return with_token(keys.create(owner, name="key", limits=KeyLimits(**limits), now=timezone.now())[1])

    return client


@pytest.fixture
def mine(make_agent: MakeAgent) -> Agent:
    return settle(make_agent())


@pytest.fixture
def another(make_agent: MakeAgent) -> Agent:
    return settle(make_agent())


def test_a_key_for_one_agent_sees_it_alone_in_every_list(keyed: Keyed, mine: Agent, another: Agent) -> None:
    client = keyed(scopes={Scope.OPERATE}, agent_id=mine.pk)
    for path in ("/agents", "/agents?limit=10", "/agents?fields=id"):
        assert [agent["id"] for agent in client.get(path).json()["agents"]] == [mine.pk]
    events = client.get("/events").json()["events"]
    assert events
    assert {event["agent"]["id"] for event in events} == {mine.pk}
    assert len(client.get("/keys").json()["keys"]) == 1


def test_another_agent_is_404_by_every_path(keyed: Keyed, mine: Agent, another: Agent) -> None:
    client = keyed(scopes=set(Scope), agent_id=mine.pk)
    assert client.get(f"/agents/{mine.pk}").status_code == 200
    for path in ("", "/events", "/logs", "/term", "/webhook/deliveries", "/memory", "/backups"):
        assert client.get(f"/agents/{another.pk}{path}").status_code == 404, path
    assert client.get(f"/agents/{another.pk}", HTTP_PREFER="wait=1").status_code == 404
    assert client.delete(f"/agents/{another.pk}").status_code == 404
    assert client.post(f"/agents/{another.pk}/pause").status_code == 404
    wanted = {"agentId": another.pk, "period": "monthly", "provider": "stars", "tier": "tiny"}
    assert client.get("/subscriptions/quote", wanted).status_code == 404
    assert client.get("/subscriptions", {"agentId": another.pk}).status_code == 404
    assert client.post("/stars/orders", wanted, format="json").status_code == 404
    event = Agent.objects.get(pk=another.pk).events.get()
    assert client.get("/events", {"after": event.pk}).status_code == 400


def test_it_creates_no_agent(keyed: Keyed, mine: Agent) -> None:
    client = keyed(scopes=set(Scope), agent_id=mine.pk)
    answer = client.post("/agents", {"personaId": mine.persona_id, "tier": "tiny"}, format="json")
    assert answer.status_code == 403
    assert mine.pk in answer.json()["message"]


def test_it_sees_nothing_when_its_agent_is_deleted(keyed: Keyed, mine: Agent, another: Agent) -> None:
    client = keyed(scopes={Scope.OPERATE}, agent_id=mine.pk)
    assert client.delete(f"/agents/{mine.pk}").status_code == 204
    assert client.get("/agents").json() == {"agents": []}
    assert client.get(f"/agents/{mine.pk}").status_code == 404


def test_a_key_that_may_only_read_sees_no_secret_in_either_way(keyed: Keyed, mine: Agent) -> None:
    furnish(mine)
    reader, operator = keyed(scopes={Scope.READ}), keyed(scopes={Scope.OPERATE})
    for client in (reader, operator):
        client.get("/me")
        for path in (f"/agents/{mine.pk}", "/agents"):
            assert is_quick(same_both_ways(client, path))
    read = reader.get(f"/agents/{mine.pk}").json()["agent"]
    assert (read["dashPassword"], read["a2aToken"], read["dashUsername"]) == (None, None, "owner")
    assert read["tools"]["mcpServers"] == [
        {"name": "one", "command": "run", "args": ["a", ""], "env": {"KEY": "hidden"}},
        {"name": "two", "url": "https://mcp.example.com/x", "headers": {"X-Key": "hidden"}},
    ]
    assert set(reader.get("/agents?fields=id,a2aToken").json()["agents"][0].items()) == {
        ("id", mine.pk),
        ("a2aToken", None),
    }
    operated = operator.get(f"/agents/{mine.pk}").json()["agent"]
    assert (operated["dashPassword"], operated["a2aToken"]) == ("dash", "a2a-secret")
    assert list(read) == list(operated)


def test_the_quick_way_holds_to_the_agent_and_the_end_of_a_key(keyed: Keyed, mine: Agent, another: Agent) -> None:
    end = timezone.now() + timedelta(hours=1)
    client = keyed(scopes={Scope.READ}, agent_id=mine.pk, expires_at=end)
    assert is_quick(same_both_ways(client, "/agents"))
    assert is_quick(same_both_ways(client, f"/agents/{mine.pk}"))
    assert same_both_ways(client, f"/agents/{another.pk}").status_code == 404
    ApiKey.objects.update(expires_at=timezone.now())
    assert same_both_ways(client, "/agents").status_code == 401
    assert same_both_ways(client, f"/agents/{mine.pk}").status_code == 401


def test_a_full_key_that_expires_has_all_rights_until_then(keyed: Keyed, mine: Agent) -> None:
    client = keyed(expires_at=timezone.now() + timedelta(hours=1))
    furnish(mine)
    assert is_quick(same_both_ways(client, f"/agents/{mine.pk}"))
    assert client.get(f"/agents/{mine.pk}").json()["agent"]["a2aToken"] == "a2a-secret"
    assert client.get("/billing-details").status_code == 200
    ApiKey.objects.update(expires_at=timezone.now())
    refused = client.get("/me")
    assert refused.status_code == 401
    assert refused.json()["message"].startswith("Authorization: this API key expired at ")


def test_a_reply_that_another_credential_got_is_not_handed_to_a_limited_key(
    keyed: Keyed, client: APIClient, mine: Agent, settings: Settings
) -> None:
    settings.MAX_FREE_AGENTS = settings.MAX_TRIALS = 10
    body = {"personaId": mine.persona_id, "tier": "tiny"}
    same: dict[str, Any] = {"HTTP_IDEMPOTENCY_KEY": "once"}
    first = client.post("/agents", body, format="json", **same).json()["agent"]["id"]
    one, two = keyed(scopes={Scope.OPERATE}), keyed(scopes={Scope.OPERATE})
    made = [key.post("/agents", body, format="json", **same).json()["agent"]["id"] for key in (one, two, two)]
    assert made[1] == made[2]
    assert len({first, *made}) == 3
    assert client.post("/agents", body, format="json", **same).json()["agent"]["id"] == first
