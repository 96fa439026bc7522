"""The quota with real parts: processes take memory and disk, the sweep measures them, and the pod is stopped."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import psutil
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from agents import creation
from agents.models import Agent, Status
from agents.pod import processes
from agents.running import reconciler
from agents.runtimes.local import LocalRuntime
from agents.watching import sampling
from catalog import snapshot
from catalog.models import Tier
from tests.agents.conftest import PERSONA, event_types
from tests.agents.pod.bridge.process import eventually
from webhooks.models import Event

pytestmark = pytest.mark.unmeasured

MiB = 2**20


@pytest.fixture
def agent(owner: User, catalog: None, local: LocalRuntime, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Agent:
    """A running agent on the local runtime with a model key. Its tier has 192 MiB of memory."""
    monkeypatch.setattr("agents.runtimes._driver", lambda name: local)
    settings.LLM_KEY_CHECK = False
    Tier.objects.filter(pk="tiny").update(memory_mib=192)
    snapshot.forget()
    wanted = creation.NewAgent(persona_id=PERSONA, tier="tiny", llm_provider="openai", llm_key="sk-a-key")
    return until(creation.create(owner, creation.checked(owner, wanted), actor="user:test")[0], Status.RUNNING)


def until(agent: Agent, status: Status) -> Agent:
    """Run the reconciler until the agent has this status."""

    def reached() -> bool:
        Agent.objects.filter(reconcile_at__isnull=False).update(reconcile_at=agent.created_at)
        reconciler.reconcile_due()
        agent.refresh_from_db()
        return agent.status == status

    eventually(reached, within=60, what=status)
    return agent


def say(client: APIClient, agent: Agent, message: str) -> str:
    answer = client.post(f"/agents/{agent.id}/chat", {"message": message}, format="json")
    assert answer.status_code == 200, answer.content
    reply: str = answer.json()["reply"]
    return reply


@pytest.mark.sampled
def test_what_a_daemon_and_a_file_take_is_shown_and_stops_the_pod_in_the_end(client: APIClient, agent: Agent) -> None:
    now = timezone.now()
    sampling.sample(now)
    before = client.get(f"/agents/{agent.id}/quota").json()["quota"]
    daemon = psutil.Process(int(say(client, agent, "take 200")))
    say(client, agent, "fill 100")
    sampling.sample(now + timedelta(minutes=1))
    after = client.get(f"/agents/{agent.id}/quota").json()["quota"]
    assert 200 * MiB <= after["memoryUsedBytes"] - before["memoryUsedBytes"] < 300 * MiB
    assert 100 * MiB <= after["diskUsedBytes"] - before["diskUsedBytes"] < 110 * MiB
    assert (after["memoryLimitBytes"], after["memoryPct"] > 1) == (192 * MiB, True)

    for minute in [2, 3, 4, 5, 65]:
        sampling.sample(now + timedelta(minutes=minute))
    until(agent, Status.STOPPED)
    assert not processes.is_alive(daemon)
    assert event_types(agent) == ["agent.running", "agent.stopped"]
    assert json.loads(Event.objects.get(type="agent.stopped").body)["data"]["reason"] == "quota"
    assert client.get(f"/agents/{agent.id}").json()["agent"]["quotaStatus"] == "paused"

    assert client.post(f"/agents/{agent.id}/resume").status_code == 200
    until(agent, Status.RUNNING)
    sampling.sample(now + timedelta(minutes=66))
    resumed = client.get(f"/agents/{agent.id}/quota").json()["quota"]
    assert resumed["status"] == "ok"
    assert resumed["memoryUsedBytes"] < after["memoryUsedBytes"] - 150 * MiB
    assert resumed["diskUsedBytes"] >= 100 * MiB
