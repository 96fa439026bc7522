"""An API server whose pods all run, and where nothing happens: lists are complete, and watches stay open without news.

There is no network and no JSON text between it and the observer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.clusters.api import names

Json = dict[str, Any]

BORN = "2026-11-22T12:00:00Z"
_KINDS = {
    "namespaces": "NamespaceList",
    "deployments": "DeploymentList",
    "pods": "PodList",
    "networkpolicies": "NetworkPolicyList",
    "services": "ServiceList",
    "resourcequotas": "ResourceQuotaList",
    "limitranges": "LimitRangeList",
    "persistentvolumes": "PersistentVolumeList",
    "persistentvolumeclaims": "PersistentVolumeClaimList",
    "rolebindings": "RoleBindingList",
    "ingresses": "IngressList",
    "httproutes": "HTTPRouteList",
    "listenersets": "ListenerSetList",
    "certificates": "CertificateList",
}


@dataclass(frozen=True, slots=True)
class QuietPod:
    namespace: str
    agent_id: str
    address: str


class QuietStream:
    """Lines that never come. Ends when it is closed or when its cluster ends."""

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended

    def __iter__(self) -> Iterator[bytes]:
        self._ended.wait()
        return iter(())

    def close(self) -> None:
        """Nothing to close: the stream holds no connection."""


class QuietCluster:
    def __init__(self, pods: Iterable[QuietPod], *, installation: str) -> None:
        self._pods, self._installation = list(pods), installation
        self._ended = threading.Event()

    def get(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float = 10.0) -> Json:
        plural = path.rsplit("/", 1)[-1]
        items = [self._object(plural, pod) for pod in self._pods]
        return {"kind": _KINDS[plural], "metadata": {"resourceVersion": "1"}, "items": items}

    def lines(self, path: str, query: Mapping[str, str] | None = None, *, seconds: float) -> QuietStream:
        return QuietStream(self._ended)

    def end(self) -> None:
        """End all watches, so that the threads that follow them end too."""
        self._ended.set()

    def _object(self, plural: str, pod: QuietPod) -> Json:
        metadata = self._metadata(names.POD, pod)
        match plural:
            case "namespaces":
                metadata = {**metadata, "name": pod.namespace}
                del metadata["namespace"]
                return {"metadata": metadata, "status": {"phase": "Active"}}
            case "deployments":
                return {"metadata": metadata, "spec": {"replicas": 1, "template": {}}, "status": {"conditions": []}}
            case "pods":
                metadata = {**metadata, "labels": {**metadata["labels"], names.CERTIFICATE_LABEL: "0" * 32}}
                return {"metadata": metadata, "status": _running(pod)}
            case "rolebindings":
                return {"metadata": {**metadata, "name": names.RIGHTS}, "roleRef": {}, "subjects": []}
            case "persistentvolumes":
                claim = {"namespace": pod.namespace, "name": names.CLAIM}
                spec = {"claimRef": claim, "persistentVolumeReclaimPolicy": "Retain"}
                return {"metadata": {**metadata, "name": f"pv-{pod.namespace}"}, "spec": spec}
            case "persistentvolumeclaims":
                return {"metadata": {**metadata, "name": names.CLAIM}, "spec": {}}
            case "limitranges":
                secrets = [names.GATEWAY_SECRET, names.ENGINE_SECRET]
                owners = [{"kind": "Secret", "name": name, "uid": f"{pod.namespace}-{name}"} for name in secrets]
                return {"metadata": {**metadata, "ownerReferences": owners}, "spec": {"limits": []}}
            case _:
                return {"metadata": metadata, "spec": {}}

    def _metadata(self, name: str, pod: QuietPod) -> Json:
        labels = names.labels(installation=self._installation, agent_id=pod.agent_id)
        return {"name": name, "namespace": pod.namespace, "labels": labels, "creationTimestamp": BORN}


def _running(pod: QuietPod) -> Json:
    state = {"running": {"startedAt": BORN}}
    containers = [
        {"name": name, "ready": True, "restartCount": 0, "state": state, "lastState": {}}
        for name in (names.ENGINE, names.GATEWAY)
    ]
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": BORN}
    return {"phase": "Running", "podIP": pod.address, "conditions": [ready], "containerStatuses": containers}
