"""Unchanged objects are not put back, objects of older releases are guarded, and nothing is reported twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.clusters.api.client import Connection
from agents.models import Agent, Cluster, Pod
from agents.running import lifecycle
from tests.agents.clusters import living
from tests.agents.clusters.living import create, until
from tests.agents.clusters.test_drift import CLAIM as PATH_OF_CLAIM
from tests.agents.clusters.test_drift import PATHS, WITHIN, settled, state, timeline
from tests.agents.pod.bridge.process import eventually
from tests.doubles.kube_api import KubeApi

pytestmark = [pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

SETTLED_SECONDS = 3.0
CLAIM = "PersistentVolumeClaim/data"


@pytest.fixture
def api(tmp_path: Path, settings: Settings, catalog: None) -> Iterator[KubeApi]:
    with living.cluster(tmp_path, settings) as found:
        Cluster.objects.update(routing="gateway", gateway="infra/pods")
        yield found


@pytest.fixture
def administrator(api: KubeApi) -> Iterator[Connection]:
    with closing(Connection("administrator", api.kubeconfig())) as connection:
        yield connection


@pytest.fixture
def agent(owner: User, api: KubeApi) -> Agent:
    (agent_id,) = create(owner, 1)
    until("running", [agent_id])
    return Agent.objects.get(pk=agent_id)


def test_where_nobody_changes_anything_nothing_is_put_back(api: KubeApi, agent: Agent) -> None:
    settled(agent)
    time.sleep(1.0)  # work that has begun comes to its end
    writes = api.writes
    time.sleep(SETTLED_SECONDS)
    assert api.writes == writes
    assert timeline(agent) == []
    assert set(Pod.objects.get().kept or {}) == {
        *("Namespace", "RoleBinding/agentpods", "ResourceQuota/pod", "LimitRange/pod", "NetworkPolicy/pod"),
        *("Service/pod", "HTTPRoute/pod", "Deployment/pod", "PersistentVolumeClaim/data"),
        f"PersistentVolume/{api.objects('PersistentVolume')[0]['metadata']['name']}",
    }


def test_a_pod_that_an_older_release_has_made_is_guarded_from_now_on(
    api: KubeApi, administrator: Connection, agent: Agent
) -> None:
    settled(agent)
    pods = {pod["metadata"]["uid"] for pod in api.objects("Pod", agent.namespace)}
    Pod.objects.update(kept=None)
    settled(agent)
    assert timeline(agent) == []
    assert {pod["metadata"]["uid"] for pod in api.objects("Pod", agent.namespace)} == pods, "nothing starts anew"
    administrator.delete(PATHS["NetworkPolicy"].format(agent.namespace))
    eventually(lambda: state(administrator, "NetworkPolicy", agent.namespace), within=WITHIN, what="the policy")


def test_a_claim_that_was_seen_only_after_its_pod_was_running_is_guarded_too(
    administrator: Connection, agent: Agent
) -> None:
    settled(agent)
    pod = Pod.objects.get()
    assert pod.kept
    Pod.objects.update(kept={key: digest for key, digest in pod.kept.items() if key != CLAIM})
    eventually(lambda: CLAIM in (Pod.objects.get().kept or {}), within=WITHIN, what="the claim noted")
    settled(agent)
    assert timeline(agent) == []
    administrator.merge(PATH_OF_CLAIM.format(agent.namespace), {"metadata": {"labels": {"agentpods.dev/agent": None}}})
    eventually(lambda: timeline(agent), within=WITHIN, what="the timeline")
    assert timeline(agent) == ["restored in its cluster: PersistentVolumeClaim/data was changed"]


def test_what_the_account_of_an_older_chart_may_not_watch_keeps_nothing_else_from_being_guarded(
    tmp_path: Path, settings: Settings, catalog: None, owner: User
) -> None:
    with living.cluster(tmp_path, settings, refused="/api/v1/persistentvolumeclaims") as api:
        (agent_id,) = create(owner, 1)
        until("running", [agent_id])
        agent = Agent.objects.get(pk=agent_id)
        settled(agent)
        assert "PersistentVolumeClaim/data" not in (Pod.objects.get().kept or {})
        with closing(Connection("administrator", api.kubeconfig())) as administrator:
            administrator.delete(PATHS["NetworkPolicy"].format(agent.namespace))
            eventually(lambda: timeline(agent), within=WITHIN, what="the timeline")
            settled(agent)
            assert state(administrator, "NetworkPolicy", agent.namespace)
        assert timeline(agent) == ["restored in its cluster: NetworkPolicy/pod was gone"]


def test_the_same_again_and_again_is_told_once_an_hour(db: None, running: Agent) -> None:
    for _ in range(3):
        lifecycle.put_back(running, ["Service/pod was gone"], now=running.status_since)
    lifecycle.put_back(running, ["LimitRange/pod was gone"], now=running.status_since)
    assert timeline(running) == [
        "restored in its cluster: Service/pod was gone",
        "restored in its cluster: LimitRange/pod was gone",
    ]
