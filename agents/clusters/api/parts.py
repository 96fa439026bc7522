"""Parts of objects that more than one builder needs. The functions are pure."""

from __future__ import annotations

import base64
from typing import Any

from agents.clusters.api import names
from agents.clusters.api.place import ClusterSettings
from agents.runtimes.base import PodSpec

Json = dict[str, Any]


def metadata(spec: PodSpec, place: ClusterSettings, name: str) -> Json:
    """The metadata of an object in the agent's namespace."""
    labels = names.labels(installation=place.installation, agent_id=spec.agent_id)
    return {"name": name, "namespace": spec.namespace, "labels": labels}


def namespace(name: str, labels: dict[str, str]) -> Json:
    """A namespace that refuses pods that are not `restricted` (Pod Security Standards)."""
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {**labels, **security}}}


def pull_secrets(metadata: Json, place: ClusterSettings) -> list[Json]:
    """The Secret with which nodes pull private images; none if the operator gave none."""
    if not place.pull_secret:
        return []
    data = {".dockerconfigjson": base64.b64encode(place.pull_secret.encode()).decode()}
    kind = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson"}
    return [{**kind, "metadata": metadata, "data": data}]


def pod(place: ClusterSettings, *, runtime_class: str) -> Json:
    """What the specification of every pod has: no access to the API server, and the operator's choice of nodes."""
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **({"nodeSelector": dict(place.node_selector)} if place.node_selector else {}),
        **({"tolerations": [dict(one) for one in place.tolerations]} if place.tolerations else {}),
        **({"runtimeClassName": runtime_class} if runtime_class else {}),
        **({"imagePullSecrets": [{"name": names.PULL_SECRET}]} if place.pull_secret else {}),
    }


def security(user: int) -> Json:
    """The security context of every container."""
    return {
        "runAsUser": user,
        "runAsGroup": user,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
