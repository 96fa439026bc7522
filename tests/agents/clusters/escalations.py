"""Requests with a token of the chart's accounts that a cluster must refuse. All are dry runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.clusters.api import names
from agents.clusters.api.client import APPLY, JSON, MERGE, Connection, path_of
from tests.agents.clusters import ground
from tests.agents.clusters.ground import is_real
from tests.agents.clusters.reaping import FOREIGN
from tests.deploy import chart

Json = dict[str, Any]
Deed = Callable[[Connection], object]

HOME = "pod-escalation-1"
INSTALLATION = ground.INSTALLATION if is_real else "agentpods"
SYSTEM, ACCOUNT = ground.account() if is_real else (chart.NAMESPACE, f"{chart.RELEASE}-drive")
ROLE = f"{SYSTEM}-{ACCOUNT.rpartition('-')[0]}-agent"  # the role in agents' namespaces
LABELS = names.labels(installation=INSTALLATION, agent_id="agt_escalation")


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
    """A Deployment as agents have it. `container` and `pod` are the differences."""
    one = {"name": "one", "image": "registry.example/one:1", "securityContext": dict(SECURITY), **(container or {})}
    spec = {"automountServiceAccountToken": False, "containers": [one], **pod}
    template = {"metadata": {"labels": {"one": "one"}}, "spec": spec}
    body = {"replicas": 0, "selector": {"matchLabels": {"one": "one"}}, "template": template}
    return a("Deployment", "apps/v1", at=at, spec=body)


def binding(role: str, *, at: str = HOME, account: str = ACCOUNT, name: str = "other") -> Json:
    return a(
        "RoleBinding",
        "rbac.authorization.k8s.io/v1",
        at=at,
        name=name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": SYSTEM}],
    )


def volume(name: str, *, labels: Json | None = None, **spec: Any) -> Json:
    capacity = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {**FOREIGN, **(labels or {})}},
        "spec": {**capacity, "persistentVolumeReclaimPolicy": "Retain", **spec},
    }


SERVICE = {"ports": [{"port": 53}], "selector": {"one": "one"}}
CSI = {"csi": {"driver": "csi.example", "volumeHandle": "one"}}
# Objects that are there already and belong to no agent.
SYSTEMS: list[Json] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}},
    a("Service", at="kube-system", name="kube-dns", spec=SERVICE),
    a("Secret", at=SYSTEM, name="agentpods-settings", type="Opaque", data={}),
]


def claimed(at: str) -> Json:
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data", "namespace": at}


VOLUMES: dict[str, Json] = {
    "foreign": volume("foreign", claimRef=claimed("kube-system"), **CSI),
    "unclaimed": volume("unclaimed", **CSI),
    # Left by an agent whose namespace is gone, so anybody may make a namespace with that name.
    "left": volume("left", claimRef=claimed(HOME), labels={**LABELS, names.INSTALLATION_LABEL: "other"}, **CSI),
    "left unnamed": volume("left-unnamed", claimRef=claimed(HOME), **CSI),
    "ours": volume("escalation-ours", labels=dict(LABELS), **CSI),
}


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


BARE_AND_PRIVILEGED = {"securityContext": {"privileged": True, "runAsNonRoot": True}}
HOST_PATH = {"name": "host", "hostPath": {"path": "/"}}
TOKEN = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
TOKEN_SECRET = a("Secret", type="kubernetes.io/service-account-token")
TOKEN_SECRET["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "default"}
LABELLED = {"metadata": {"labels": LABELS}}
GATEWAY = "gateway.networking.k8s.io/v1"
METADATA = {"host": "169.254.169.254", "port": 80, "path": "/"}
EVERYBODY = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:authenticated"}


def route(hostnames: list[str]) -> Json:
    return a("HTTPRoute", GATEWAY, spec={"parentRefs": [{"name": "pods"}], "hostnames": hostnames})


def listener(**named: str) -> Json:
    one = {"name": "one", "port": 443, "protocol": "HTTPS", **named}
    return a("ListenerSet", GATEWAY, spec={"parentRef": {"name": "pods"}, "listeners": [one]})


def certificate(**spec: Any) -> Json:
    issuer = {"kind": "ClusterIssuer", "name": "letters"}
    return a("Certificate", "cert-manager.io/v1", spec={"secretName": "one", "issuerRef": issuer, **spec})


# Requests that the roles allow to the workers' accounts, and that policies refuse.
ESCALATIONS: dict[str, Deed] = {
    "a privileged Deployment beside the system": applied(
        deployment("kube-system", container=BARE_AND_PRIVILEGED, volumes=[HOST_PATH])
    ),
    "a Deployment beside the control plane": applied(deployment(SYSTEM)),
    "a privileged container": applied(deployment(container=BARE_AND_PRIVILEGED)),
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
        deployment(initContainers=[{"name": "two", "image": "x", **BARE_AND_PRIVILEGED}])
    ),
    "a Secret that becomes a token": applied(TOKEN_SECRET),
    "a Secret elsewhere": applied(a("Secret", at=SYSTEM, name="agentpods-settings", data={"x": "eA=="})),
    "a Secret read": looked_at(f"/api/v1/namespaces/{SYSTEM}/secrets/agentpods-settings"),
    "a Secret read by changing nothing": merged(f"/api/v1/namespaces/{SYSTEM}/secrets/agentpods-settings"),
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
    "a volume that somebody's agent has left": merged("/api/v1/persistentvolumes/left", **LABELLED),
    "a volume that somebody has left": merged("/api/v1/persistentvolumes/left-unnamed", **LABELLED),
    "our volume given to somebody": merged(
        "/api/v1/persistentvolumes/escalation-ours", spec={"claimRef": claimed("kube-system")}, **LABELLED
    ),
    "a claim on what labels find": applied(
        a(
            "PersistentVolumeClaim",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "",
                "selector": {"matchLabels": {"team": "other"}},
            },
        )
    ),
    "a volume made": applied(volume("made", hostPath={"path": "/"})),
    "a volume deleted": deleted("/api/v1/persistentvolumes/foreign"),
    "the system's namespace": deleted("/api/v1/namespaces/kube-system"),
    "a namespace taken over": merged("/api/v1/namespaces/default", **LABELLED),
    "a namespace of another name": posted(namespace("other")),
    "a namespace of another installation": posted(namespace("pod-other-1", **{names.INSTALLATION_LABEL: "other"})),
    "a namespace that is nobody's": posted({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "pod-x-1"}}),
    "a namespace without pod security": posted(namespace("pod-other-1", level="privileged")),
    "pod security lowered": applied(namespace(HOME, level="baseline")),
    "pod security of an older kind": applied(namespace(HOME, **{"pod-security.kubernetes.io/enforce-version": "v1.0"})),
    "a label taken off": merged(f"/api/v1/namespaces/{HOME}", metadata={"labels": {names.INSTALLATION_LABEL: None}}),
    "an administrator": posted(binding("cluster-admin")),
    "rights elsewhere": posted(binding(ROLE, at="kube-system")),
    "rights for somebody else": posted(binding(ROLE, account="other")),
    "rights for everybody": posted({**binding(ROLE), "subjects": [EVERYBODY]}),
    "rights for nobody yet": posted({name: part for name, part in binding(ROLE).items() if name != "subjects"}),
    "a call by the node": applied(deployment(container={"livenessProbe": {"httpGet": METADATA}})),
    "a call by the node as it ends": applied(deployment(container={"lifecycle": {"preStop": {"httpGet": METADATA}}})),
    "a connection by the node": applied(
        deployment(container={"startupProbe": {"tcpSocket": {"host": "192.0.2.1", "port": 22}}})
    ),
    "the console's visitors by a route": applied(route(["console.example.com"])),
    "the console's visitors among all of a domain": applied(route(["*.example.com"])),
    "all visitors by a route": applied(a("HTTPRoute", GATEWAY, spec={"parentRefs": [{"name": "pods"}]})),
    "all visitors by a route of no names": applied(route([])),
    "the console's visitors by a listener": applied(listener(hostname="console.example.com")),
    "all visitors by a listener": applied(listener()),
    "the console's certificate": applied(certificate(dnsNames=["console.example.com"])),
    "a certificate for a name of another kind": applied(
        certificate(dnsNames=["one.example"], commonName="console.example.com")
    ),
    "an authority": applied(certificate(dnsNames=["one.example"], isCA=True)),
    "a namespace's end forced": lambda c: c._call(
        "PUT", f"/api/v1/namespaces/{HOME}/finalize", {"dryRun": "All"}, body=namespace(HOME), content=JSON
    ),
}

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
