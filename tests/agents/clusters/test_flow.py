"""The whole life of an agent on a cluster, through the API: on the double, or on the cluster of TEST_KUBECONFIG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.clusters import connections
from agents.engines.persona import persona_text
from agents.models import Agent, Cluster, Placement, Pod
from agents.running import pods
from agents.watching import sampling
from tests.agents.clusters import ground
from tests.agents.conftest import PERSONA
from tests.agents.pod.bridge.process import eventually
from tests.agents.runtimes.conftest import REAL_KEY

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

NEW = {"personaId": PERSONA, "tier": "tiny", "llmProvider": "openai", "llmKey": REAL_KEY}


@pytest.fixture
def cluster(tmp_path: Path, settings: Settings) -> Iterator[Cluster]:
    """A cluster with an observer and a reconciler."""
    settings.AGENT_RUNTIME, settings.LLM_KEY_CHECK = "kubernetes", False
    with ground.ground(tmp_path, settings) as row, ground.observing(), ground.reconciling():
        yield row


class ApiOwner:
    """A customer with one agent, who calls the API."""

    def __init__(self, api: APIClient) -> None:
        self.api = api
        self.id = self._good(api.post("/agents", NEW, format="json"))["agent"]["id"]

    @property
    def path(self) -> str:
        return f"/agents/{self.id}"

    def row(self) -> Agent:
        return Agent.objects.get(pk=self.id)

    def get(self, path: str = "") -> dict[str, Any]:
        return self._good(self.api.get(self.path + path))

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._good(self.api.post(self.path + path, body or {}, format="json"))

    def say(self, message: str) -> str:
        return str(self.post("/chat", {"message": message, "sessionId": "s1"})["reply"])

    def until(self, status: str) -> dict[str, Any]:
        return self.until_seen(lambda agent: agent["status"] == status, status)

    def until_seen(self, good: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        def seen() -> dict[str, Any] | None:
            agent: dict[str, Any] = self.get()["agent"]
            return agent if good(agent) else None

        found: dict[str, Any] = eventually(seen, within=40 * ground.PATIENCE, what=f"{what} {self.get('/explain')}")
        return found

    @staticmethod
    def _good(answer: Any) -> dict[str, Any]:
        assert answer.status_code == 200, answer.content
        body: dict[str, Any] = answer.json()
        return body


def test_an_agent_lives_its_life_on_a_cluster(client: APIClient, cluster: Cluster) -> None:
    owner = ApiOwner(client)
    first = owner.row().namespace
    assert owner.until("running")["dseq"] == first
    assert owner.say("say hello") == "hello"
    assert owner.get("/liveness")["liveness"] == {"reachable": True, "serving": True}
    assert owner.get("/explain")["explanation"]["cause"] == "KEY_UNCHECKED"  # no provider checks the key here

    memory = owner.get("/memory")["memory"]
    assert (memory["soul"], memory["sessionsCount"]) == (persona_text(pods.config_of(owner.row())), 1)

    assert client.patch(owner.path, {"name": "Another name"}, format="json").status_code == 200
    wanted = owner.row().spec_revision
    eventually(lambda: Pod.objects.get(pk=first).revision == wanted, within=20 * ground.PATIENCE, what="the revision")

    def measured() -> bool:
        sampling.sample()
        quota = owner.get("/quota")["quota"]
        return bool(quota and quota["memoryUsedBytes"] and quota["diskUsedBytes"])

    eventually(measured, within=60 * ground.PATIENCE, what="a measurement")

    owner.post("/pause")
    owner.until("stopped")
    owner.post("/resume")
    owner.until("running")
    assert owner.say("count") == "1"

    owner.post("/rebuild")
    owner.until_seen(lambda agent: agent["status"] == "running" and owner.row().generation == 2, "the next generation")
    assert owner.say("count") == "2"
    api = connections.of(cluster)
    assert api.find(f"/api/v1/namespaces/{first}") is None

    assert client.delete(owner.path).status_code == 204
    assert client.get(owner.path).status_code == 404
    eventually(lambda: owner.row().status == "deleted", within=40 * ground.PATIENCE, what="the end")
    leaves_nothing(owner.row(), cluster)


def leaves_nothing(agent: Agent, cluster: Cluster) -> None:
    api = connections.of(cluster)
    assert api.find(f"/api/v1/namespaces/{agent.namespace}") is None
    assert not Pod.objects.exists()
    assert not Placement.objects.exists()
    ours = {"labelSelector": f"agentpods.dev/agent={agent.pk}"}
    eventually(
        lambda: not api.get("/api/v1/persistentvolumes", ours)["items"],
        within=40 * ground.PATIENCE,
        what="the volume's end",
    )
