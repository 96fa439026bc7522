"""Whoever has a token of the chart's accounts makes pods of agents, and gets at nothing else of a cluster.

On the double, and on a real API server by `make test-cluster`. What is asked for here is only tried (`dryRun`): an
answer of success is the failure.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.runtimes.kubernetes import names, rights
from agents.runtimes.kubernetes.client import APPLY, JSON, MERGE, Connection, Refused, path_of
from tests.agents.clusters import ground
from tests.agents.clusters.ground import KUBECONFIG, is_real
from tests.deploy import chart
from tests.doubles.kube_api import KubeApi

pytestmark = pytest.mark.unmeasured

Json = dict[str, Any]
Deed = Callable[[Connection], object]

HOME = "pod-escalation-1"
INSTALLATION = ground.INSTALLATION if is_real else "agentpods"
LABELS = names.labels(installation=INSTALLATION, agent_id="agt_escalation")
WRITERS = ["real"] if is_real else ["drive", "remote"]
ACCOUNTS = ["real"] if is_real else ["drive", "observe", "remote"]


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi | None]:
    if is_real:
        yield None
        return
    with KubeApi(tmp_path_factory.mktemp("cluster")) as api:
        api.install(chart.accounts())
        api.install(chart.accounts(remote=True))
        for foreign in FOREIGN:
            api.put(foreign["kind"], foreign)
        yield api


@pytest.fixture
def connected(double: KubeApi | None) -> Iterator[Callable[[str], Connection]]:
    """By the name of an account of the chart: who has its token, and an agent's namespace where it has its rights."""
    with contextlib.ExitStack() as stack:

        def connect(account: str) -> Connection:
            real = Path(os.environ[KUBECONFIG]).read_text(encoding="utf-8") if is_real else None
            shown = double.kubeconfig(chart.username(account)) if double else real
            return stack.enter_context(contextlib.closing(Connection("asked", shown)))

        yield connect


@pytest.fixture
def writer(request: pytest.FixtureRequest, connected: Callable[[str], Connection]) -> Iterator[Connection]:
    connection = connected(request.param)
    connection.apply(namespace(HOME))
    rights.Inside(connection, HOME, labels=LABELS).apply(deployment())
    yield connection
    if is_real:
        connection.delete(f"/api/v1/namespaces/{HOME}")


def namespace(name: str, *, level: str = "restricted", **labels: str) -> Json:
    marked = {**LABELS, "pod-security.kubernetes.io/enforce": level, **labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": marked}}


def a(kind: str, version: str = "v1", *, at: str = HOME, name: str = "one", **body: Any) -> Json:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": at, "labels": dict(LABELS)},
        **body,
    }


SECURITY = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def deployment(at: str = HOME, *, container: Json | None = None, **pod: Any) -> Json:
    """A workload as agents have it; `container` and `pod` are what is different."""
    one = {"name": "one", "image": "registry.example/one:1", "securityContext": dict(SECURITY), **(container or {})}
    spec = {"automountServiceAccountToken": False, "containers": [one], **pod}
    template = {"metadata": {"labels": {"one": "one"}}, "spec": spec}
    body = {"replicas": 0, "selector": {"matchLabels": {"one": "one"}}, "template": template}
    return a("Deployment", "apps/v1", at=at, spec=body)


def binding(role: str, *, at: str = HOME, account: str = "agentpods-drive", name: str = "other") -> Json:
    return a(
        "RoleBinding",
        "rbac.authorization.k8s.io/v1",
        at=at,
        name=name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": chart.NAMESPACE}],
    )


def volume(name: str, **spec: Any) -> Json:
    capacity = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {**capacity, "persistentVolumeReclaimPolicy": "Retain", **spec},
    }


SERVICE = {"ports": [{"port": 53}], "selector": {"one": "one"}}
KUBE_SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
SYSTEMS = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chart.NAMESPACE}}
CLAIMED = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data", "namespace": "kube-system"}
CSI = {"csi": {"driver": "csi.example", "volumeHandle": "one"}}
# What is there already, and nobody's of ours.
FOREIGN: list[Json] = [
    KUBE_SYSTEM,
    SYSTEMS,
    a("Service", at="kube-system", name="kube-dns", spec=SERVICE),
    a("Secret", at=chart.NAMESPACE, name="agentpods-settings", type="Opaque", data={}),
    volume("foreign", claimRef=CLAIMED, **CSI),
    volume("unclaimed", **CSI),
]


def applied(manifest: Json) -> Deed:
    query = {"fieldManager": names.FIELD_MANAGER, "force": "true", "dryRun": "All"}
    return lambda c: c._call("PATCH", path_of(manifest), query, body=manifest, content=APPLY)


def posted(manifest: Json) -> Deed:
    collection = path_of(manifest).rsplit("/", 1)[0]
    return lambda c: c._call("POST", collection, {"dryRun": "All"}, body=manifest, content=JSON)


def merged(path: str, **change: Any) -> Deed:
    return lambda c: c._call("PATCH", path, {"dryRun": "All"}, body=change, content=MERGE)


def deleted(path: str) -> Deed:
    return lambda c: c._call("DELETE", path, {"dryRun": "All"})


def looked_at(path: str) -> Deed:
    return lambda c: c.get(path)


def container(**security: Any) -> Json:
    return {"securityContext": {**SECURITY, **security}}


HOST_PATH = {"name": "host", "hostPath": {"path": "/"}}
TOKEN = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
LABELLED = {"metadata": {"labels": LABELS}}
ROUTE = {"parentRefs": [{"name": "pods"}], "hostnames": ["console.example.com"]}
RULE = {"host": "console.example.com", "http": {"paths": []}}

# What roles let the workers' accounts do, and policies do not.
ESCALATIONS: dict[str, Deed] = {
    "a privileged Deployment beside the system": applied(
        deployment("kube-system", container=container(privileged=True), volumes=[HOST_PATH])
    ),
    "a Deployment beside the control plane": applied(deployment(chart.NAMESPACE)),
    "a privileged container": applied(deployment(container=container(privileged=True))),
    "more privileges": applied(deployment(container=container(allowPrivilegeEscalation=True))),
    "a capability": applied(deployment(container=container(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]}))),
    "no security context": applied(deployment(container={"securityContext": {}})),
    "a port of the host": applied(deployment(container={"ports": [{"containerPort": 80, "hostPort": 80}]})),
    "the host's files": applied(deployment(volumes=[HOST_PATH])),
    "the host's network": applied(deployment(hostNetwork=True)),
    "the host's processes": applied(deployment(hostPID=True)),
    "the host's memory": applied(deployment(hostIPC=True)),
    "a node of one's choice": applied(deployment(nodeName="control-plane")),
    "precedence before the system": applied(deployment(priorityClassName="system-node-critical")),
    "a service account": applied(deployment(serviceAccountName="other")),
    "a service account by its old name": applied(deployment(serviceAccount="other")),
    "a token": applied(deployment(automountServiceAccountToken=True)),
    "a token by a volume": applied(deployment(volumes=[TOKEN])),
    "an init container with privileges": applied(
        deployment(initContainers=[{"name": "two", "image": "x", **container(privileged=True)}])
    ),
    "a Secret that becomes a token": applied(a("Secret", type="kubernetes.io/service-account-token")),
    "a Secret elsewhere": applied(a("Secret", at=chart.NAMESPACE, name="agentpods-settings", data={"x": "eA=="})),
    "a Secret read": looked_at(f"/api/v1/namespaces/{chart.NAMESPACE}/secrets/agentpods-settings"),
    "a Secret read by changing nothing": merged(f"/api/v1/namespaces/{chart.NAMESPACE}/secrets/agentpods-settings"),
    "all Secrets": looked_at("/api/v1/secrets"),
    "an agent's own Secret read": looked_at(f"/api/v1/namespaces/{HOME}/secrets/engine"),
    "the system's name service": applied(a("Service", at="kube-system", name="kube-dns", spec=SERVICE)),
    "a service for the world": applied(a("Service", spec={**SERVICE, "type": "LoadBalancer"})),
    "a port of every node": applied(a("Service", spec={**SERVICE, "type": "NodePort"})),
    "somebody's address": applied(a("Service", spec={**SERVICE, "externalIPs": ["192.0.2.1"]})),
    "another name for a service": applied(a("Service", spec={"type": "ExternalName", "externalName": "x.example"})),
    "a policy elsewhere": applied(
        a("NetworkPolicy", "networking.k8s.io/v1", at="kube-system", spec={"podSelector": {}})
    ),
    "somebody's volume let go": merged(
        "/api/v1/persistentvolumes/foreign", spec={"persistentVolumeReclaimPolicy": "Delete"}, **LABELLED
    ),
    "a volume of nobody": merged("/api/v1/persistentvolumes/unclaimed", **LABELLED),
    "a volume made": applied(volume("made", hostPath={"path": "/"})),
    "a volume deleted": deleted("/api/v1/persistentvolumes/foreign"),
    "the system's namespace": deleted("/api/v1/namespaces/kube-system"),
    "a namespace taken over": merged("/api/v1/namespaces/default", **LABELLED),
    "a namespace of another name": posted(namespace("other")),
    "a namespace of another installation": posted(namespace("pod-other-1", **{names.INSTALLATION_LABEL: "other"})),
    "a namespace that is nobody's": posted({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pod-x-1"}}),
    "a namespace without pod security": posted(namespace("pod-other-1", level="privileged")),
    "pod security lowered": applied(namespace(HOME, level="baseline")),
    "a label taken off": merged(f"/api/v1/namespaces/{HOME}", metadata={"labels": {names.INSTALLATION_LABEL: None}}),
    "an administrator": posted(binding("cluster-admin")),
    "rights elsewhere": posted(binding("agentpods-system-agentpods-agent", at="kube-system")),
    "rights for somebody else": posted(binding("agentpods-system-agentpods-agent", account="other")),
    "the console's visitors by a route": applied(a("HTTPRoute", "gateway.networking.k8s.io/v1", spec=ROUTE)),
    "a namespace's end forced": lambda c: c._call(
        "PUT", f"/api/v1/namespaces/{HOME}/finalize", {"dryRun": "All"}, body=namespace(HOME), content=JSON
    ),
}


@pytest.mark.parametrize("writer", WRITERS, indirect=True)
def test_a_worker_can_only_make_pods_of_agents(writer: Connection, subtests: pytest.Subtests) -> None:
    for what, deed in ESCALATIONS.items():
        with subtests.test(what):
            with pytest.raises(Refused) as refused:
                deed(writer)
            assert refused.value.status == 403, refused.value


@pytest.mark.parametrize("writer", WRITERS, indirect=True)
def test_what_agents_pods_are_made_of_can_be_made(writer: Connection) -> None:
    """Or else the test before this one would prove nothing."""
    for deed in (
        applied(namespace(HOME)),
        applied(deployment()),
        applied(a("Secret", type="Opaque")),
        applied(a("Service", spec=SERVICE)),
        posted(namespace("pod-other-1")),
    ):
        deed(writer)


POWERS = [
    *((verb, "", "pods") for verb in ("create", "delete", "patch", "update")),
    *(("create", "", f"pods/{what}") for what in ("exec", "attach", "portforward", "ephemeralcontainers", "binding")),
    ("get", "", "pods/log"),
    *((verb, "", "secrets") for verb in ("get", "list", "watch", "delete", "update")),
    *(("create", "", what) for what in ("serviceaccounts/token", "serviceaccounts", "configmaps", "persistentvolumes")),
    *(("delete", "", what) for what in ("persistentvolumes", "nodes", "secrets", "services", "persistentvolumeclaims")),
    *(("patch", "", what) for what in ("nodes", "nodes/status", "namespaces/status", "serviceaccounts", "events")),
    *(("impersonate", "", what) for what in ("users", "groups", "serviceaccounts")),
    *(("create", "apps", what) for what in ("daemonsets", "statefulsets", "replicasets")),
    ("create", "batch", "jobs"),
    *((verb, "rbac.authorization.k8s.io", "clusterrolebindings") for verb in ("create", "patch", "update", "delete")),
    *((verb, "rbac.authorization.k8s.io", "clusterroles") for verb in ("create", "patch", "escalate", "bind")),
    *((verb, "rbac.authorization.k8s.io", "roles") for verb in ("create", "patch", "escalate", "bind")),
    *(
        (verb, "admissionregistration.k8s.io", what)
        for verb in ("create", "patch", "update", "delete")
        for what in (
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
        )
    ),
    ("create", "apiextensions.k8s.io", "customresourcedefinitions"),
    ("create", "certificates.k8s.io", "certificatesigningrequests"),
    ("get", "", "nodes/proxy"),
    ("create", "", "nodes/proxy"),
]


@pytest.mark.parametrize("account", ACCOUNTS)
def test_no_account_has_a_right_by_which_it_gets_others(account: str, connected: Callable[[str], Connection]) -> None:
    connection = connected(account)
    places = ("", "kube-system", chart.NAMESPACE, "default", HOME)
    assert [(power, place) for power in POWERS for place in places if may(connection, *power, place)] == []


def may(connection: Connection, verb: str, group: str, resource: str, place: str) -> bool:
    plural, _, below = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "subresource": below, "namespace": place}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    return bool(connection.post(path, {**review, "spec": {"resourceAttributes": asked}})["status"].get("allowed"))


@pytest.mark.skipif(is_real, reason="of a real cluster, one account is given")
def test_an_observer_changes_nothing_at_all(connected: Callable[[str], Connection]) -> None:
    connection, accepted = connected("observe"), []
    for what, deed in ESCALATIONS.items():
        with contextlib.suppress(Refused):
            deed(connection)
            accepted.append(what)
    for deed in (applied(namespace("pod-other-1")), applied(deployment()), posted(namespace("pod-other-1"))):
        with pytest.raises(Refused):
            deed(connection)
    assert accepted == []
