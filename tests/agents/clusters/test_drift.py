"""If somebody changes or deletes an agent's objects in its cluster, the objects are put back and the timeline says so.

These tests run on the double, and with `make test-cluster` on a real cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import User
from agents.clusters import pods
from agents.clusters.api.client import Connection
from agents.models import Agent, Cluster, Pod, Status, Transition
from tests.agents.clusters import living
from tests.agents.clusters.ground import PATIENCE, is_real
from tests.agents.clusters.living import create, until
from tests.agents.pod.bridge.process import eventually
from tests.doubles.kube.api import STRATEGIC

pytestmark = pytest.mark.django_db(transaction=True)

Json = dict[str, Any]
Deed = Callable[[Connection, str], object]

WITHIN = 30.0  # the time in seconds that the documentation promises


@pytest.fixture
def administrator(tmp_path: Path, settings: Settings, catalog: None) -> Iterator[Connection]:
    """A person with all rights in the cluster and no bad intention."""
    with living.anywhere(tmp_path, settings) as found:
        if not is_real:  # a real cluster may not have the kinds of a Gateway
            Cluster.objects.update(routing="gateway", gateway="infra/pods")
        yield found


@pytest.fixture
def agent(owner: User, administrator: Connection) -> Agent:
    (agent_id,) = create(owner, 1)
    until("running", [agent_id])
    return Agent.objects.get(pk=agent_id)


PATHS = {
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies/pod",
    "Service": "/api/v1/namespaces/{}/services/pod",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas/pod",
    "LimitRange": "/api/v1/namespaces/{}/limitranges/pod",
    **({} if is_real else {"HTTPRoute": "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes/pod"}),
    "Secret": "/api/v1/namespaces/{}/secrets/engine",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings/agentpods",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments/pod",
    "Namespace": "/api/v1/namespaces/{}",
}
GUARDED = [kind for kind in PATHS if kind not in {"Deployment", "Namespace"}]
SECURITY = {"NetworkPolicy", "RoleBinding", "Namespace"}


def state(administrator: Connection, kind: str, namespace: str) -> Json | None:
    """The parts of the object that must be as before. A Service that is made again has another address."""
    found = administrator.find(PATHS[kind].format(namespace))
    if found is None:
        return None
    spec = found.get("spec", {}) if kind != "Namespace" else {}
    return {
        "spec": {name: value for name, value in spec.items() if name not in {"clusterIP", "clusterIPs"}},
        "data": found.get("data"),
        "labels": found["metadata"]["labels"],
        "subjects": found.get("subjects"),
    }


def timeline(agent: Agent) -> list[str]:
    """The notes about repairs, oldest first."""
    found = Transition.objects.filter(agent=agent, note__startswith="restored in its cluster").order_by("at", "id")
    return list(found.values_list("note", flat=True))


def one_by_one(names: Iterable[str]) -> list[Any]:
    """Parameters: all kinds at once, which is one repair; and in the slow tests, which take longer, each kind alone."""
    return ["all", *(pytest.param(name, marks=pytest.mark.slow) for name in names)]


@pytest.mark.parametrize("which", one_by_one(GUARDED))
def test_what_is_deleted_is_back_and_told_of(administrator: Connection, agent: Agent, which: str) -> None:
    kinds = GUARDED if which == "all" else [which]
    settled(agent)
    before = {kind: state(administrator, kind, agent.namespace) for kind in kinds}
    assert all(before.values())
    for kind in kinds:
        administrator.delete(PATHS[kind].format(agent.namespace))
    is_put_back(administrator, agent, before)
    for kind in kinds:
        assert any(f"{kind}/" in note and "was gone" in note for note in timeline(agent)), (kind, timeline(agent))
    agent.refresh_from_db()
    assert agent.status == Status.RUNNING
    assert bool(Cluster.objects.get().breach) is bool(SECURITY & set(kinds))


def was_changed(agent: Agent, kind: str) -> bool:
    return any(kind in note and "was changed" in note for note in timeline(agent))


def is_put_back(administrator: Connection, agent: Agent, before: dict[str, Json | None]) -> None:
    def is_as_before() -> bool:
        return {kind: state(administrator, kind, agent.namespace) for kind in before} == before

    eventually(is_as_before, within=WITHIN, what=f"{sorted(before)} as they were")
    eventually(lambda: timeline(agent), within=WITHIN, what="the timeline")
    settled(agent)


def patched(kind: str, **change: Any) -> Deed:
    return lambda administrator, namespace: administrator.merge(PATHS[kind].format(namespace), change)


def with_sidecar(administrator: Connection, namespace: str) -> object:
    """Add a container as another field manager. When we apply our fields, Kubernetes leaves this container there."""
    sidecar = {"name": "sidecar", "image": "registry.example/miner:1"}
    change = {"spec": {"template": {"spec": {"containers": [sidecar]}}}}
    path, query = PATHS["Deployment"].format(namespace), {"fieldManager": "somebody"}
    return administrator._call("PATCH", path, query, body=change, content=STRATEGIC)


PRIVILEGED = {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}
FURTHER = {"labels": {"pod-security.kubernetes.io/enforce-version": "v1.20"}}
CHANGES: dict[str, tuple[str, Deed]] = {
    "a policy that lets everything out": ("NetworkPolicy", patched("NetworkPolicy", spec={"egress": [{}]})),
    "a policy that is for other pods": (
        "NetworkPolicy",
        patched("NetworkPolicy", spec={"podSelector": {"matchLabels": {"somebody": "else"}}}),
    ),
    "pod security lowered": ("Namespace", patched("Namespace", metadata=PRIVILEGED)),
    "pod security of old": ("Namespace", patched("Namespace", metadata=FURTHER)),
    "a service that leads elsewhere": ("Service", patched("Service", spec={"selector": {"somebody": "else"}})),
    "a larger quota": ("ResourceQuota", patched("ResourceQuota", spec={"hard": {"pods": "50"}})),
    "tolerations": (
        "Deployment",
        patched("Deployment", spec={"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}),
    ),
    "a sidecar": ("Deployment", with_sidecar),
    "a visitor's name": ("HTTPRoute", patched("HTTPRoute", spec={"hostnames": ["elsewhere.example"]})),
    "rights for somebody else": (
        "RoleBinding",
        patched("RoleBinding", subjects=[{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}]),
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize("label", ["agentpods.dev/agent", "app.kubernetes.io/managed-by"])
def test_a_namespace_that_loses_a_label_of_ours_is_no_namespace_that_is_gone(
    administrator: Connection, agent: Agent, label: str
) -> None:
    settled(agent)
    before = {"Namespace": state(administrator, "Namespace", agent.namespace)}
    administrator.merge(PATHS["Namespace"].format(agent.namespace), {"metadata": {"labels": {label: None}}})
    eventually(partial(was_changed, agent, "Namespace"), within=WITHIN, what="the namespace on the timeline")
    is_put_back(administrator, agent, before)
    now = Agent.objects.get(pk=agent.pk)
    assert (now.status, now.generation) == (Status.RUNNING, agent.generation)
    assert Cluster.objects.get().breach


@pytest.mark.parametrize("which", one_by_one(CHANGES))
def test_what_is_changed_is_put_back(administrator: Connection, agent: Agent, which: str) -> None:
    there = {name: change for name, change in CHANGES.items() if change[0] in PATHS}
    changes = there if which == "all" else {which: CHANGES[which]}
    settled(agent)
    before = {kind: state(administrator, kind, agent.namespace) for kind, _ in changes.values()}
    for _, deed in changes.values():
        deed(administrator, agent.namespace)
    for kind in before:  # the timeline names the change, even if the repair was very quick
        eventually(partial(was_changed, agent, kind), within=WITHIN, what=f"{kind} on the timeline")
    is_put_back(administrator, agent, before)
    assert bool(Cluster.objects.get().breach) is bool(SECURITY & set(before))


def pod_of(agent: Agent) -> Pod:
    return Pod.objects.get(pk=agent.namespace)


def settled(agent: Agent) -> None:
    """Wait until the observer has seen all objects as they should be."""

    def as_told() -> bool:
        pod = pod_of(agent)
        is_seen = pod.kept and pod.seen and pod.secrets and pod.secrets_seen
        return bool(is_seen and pods.noted(pod).items() <= pods.seen(pod).items() and not pod.astray)

    eventually(as_told, within=WITHIN, what="nothing astray")


def volume_of(agent: Agent, administrator: Connection) -> Json:
    ours = {"labelSelector": f"agentpods.dev/agent={agent.pk}"}
    found = administrator.get("/api/v1/persistentvolumes", ours)["items"]
    return dict(found[0]) if found else {}


def test_a_volume_is_kept_before_its_agent_is_running(administrator: Connection, agent: Agent) -> None:
    volume = volume_of(agent, administrator)
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["metadata"]["labels"]["agentpods.dev/agent"] == agent.pk


def test_a_volume_that_somebody_would_have_go_is_kept_again_and_told(administrator: Connection, agent: Agent) -> None:
    settled(agent)
    volume = volume_of(agent, administrator)
    path = f"/api/v1/persistentvolumes/{volume['metadata']['name']}"
    administrator.merge(path, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})

    def is_kept() -> bool:
        return bool(volume_of(agent, administrator)["spec"]["persistentVolumeReclaimPolicy"] == "Retain")

    eventually(is_kept, within=WITHIN, what="the volume's policy")
    eventually(lambda: was_changed(agent, "PersistentVolume"), within=WITHIN, what="the timeline")
    administrator.merge(path, {"metadata": {"labels": {"agentpods.dev/agent": None}}})
    eventually(lambda: volume_of(agent, administrator), within=WITHIN, what="the volume's label")


CLAIM = "/api/v1/namespaces/{}/persistentvolumeclaims/data"


def test_a_claim_that_is_deleted_by_hand_is_made_again_on_its_disk(administrator: Connection, agent: Agent) -> None:
    """A deleted claim stays until the agent's pod ends. Without a new claim, the next pod would wait for ever."""
    eventually(lambda: "PersistentVolumeClaim/data" in pods.noted(pod_of(agent)), within=WITHIN, what="the claim noted")
    settled(agent)
    before = volume_of(agent, administrator)
    path = CLAIM.format(agent.namespace)
    administrator.delete(path)
    ours = f"/api/v1/namespaces/{agent.namespace}/pods"
    for one in administrator.get(ours)["items"]:
        administrator.delete(f"{ours}/{one['metadata']['name']}")

    def is_back() -> bool:
        claim = administrator.find(path)
        return bool(claim and "deletionTimestamp" not in claim["metadata"])

    eventually(is_back, within=2 * WITHIN, what="the claim")  # the old pod ends first
    living.until("running", [agent.pk])
    settled(agent)
    assert "PersistentVolumeClaim/data was gone" in timeline(agent)[-1]
    after = volume_of(agent, administrator)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert Agent.objects.get(pk=agent.pk).generation == agent.generation


def test_a_claims_label_that_somebody_changes_is_put_back(administrator: Connection, agent: Agent) -> None:
    settled(agent)
    path = CLAIM.format(agent.namespace)
    administrator.merge(path, {"metadata": {"labels": {"agentpods.dev/agent": "agt_somebody"}}})

    def is_ours() -> bool:
        claim = administrator.get(path)
        return bool(claim["metadata"]["labels"]["agentpods.dev/agent"] == agent.pk)

    eventually(is_ours, within=WITHIN, what="the claim's label")
    eventually(lambda: was_changed(agent, "PersistentVolumeClaim"), within=WITHIN, what="the timeline")


def test_a_claims_label_that_changes_before_the_claim_is_noted_is_put_back(
    administrator: Connection, agent: Agent
) -> None:
    settled(agent)
    pods.let_go(agent.namespace, ["PersistentVolumeClaim/data"])
    test_a_claims_label_that_somebody_changes_is_put_back(administrator, agent)


def test_a_namespace_that_is_deleted_by_hand_takes_no_disk_with_it(administrator: Connection, agent: Agent) -> None:
    before = volume_of(agent, administrator)
    administrator.delete(f"/api/v1/namespaces/{agent.namespace}")

    def is_back() -> bool:
        now = Agent.objects.get(pk=agent.pk)
        return now.generation > agent.generation and now.status == Status.RUNNING

    eventually(is_back, within=2 * WITHIN * PATIENCE, what="another generation")
    after = volume_of(agent, administrator)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["claimRef"]["namespace"] == Agent.objects.get(pk=agent.pk).namespace
