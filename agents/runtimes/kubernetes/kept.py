"""What of an object in a cluster is to stay as it was told: a digest that the driver notes and the observer compares.

It is taken of the API server's own answer, with all defaults, so whatever somebody adds, changes or takes away shows.
What others may rightly change is left out: a workload's replicas, a namespace's further labels, all status.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agents.runtimes.kubernetes import names

Json = dict[str, Any]
Digests = dict[str, str]  # by the key of each object

POD_SECURITY = "pod-security.kubernetes.io/"
# Without these an agent reaches what it must not, or may be what it must not.
SECURITY = frozenset({"Namespace", "NetworkPolicy", "RoleBinding"})

_OURS = {names.MANAGED_BY_LABEL, names.INSTALLATION_LABEL, names.AGENT_LABEL}


def key(obj: Mapping[str, Any]) -> str:
    """`Kind/name`; a namespace's own is `Namespace`, for each generation has another name."""
    return "Namespace" if obj["kind"] == "Namespace" else f"{obj['kind']}/{obj['metadata']['name']}"


def is_security(key: str) -> bool:
    return key.partition("/")[0] in SECURITY


def digest(obj: Mapping[str, Any]) -> str:
    """16 hexadecimal digits of what is to stay."""
    text = json.dumps(_staying(obj), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of(*applied: Mapping[str, Any]) -> Digests:
    """Of what the API server answered, but for kinds that nobody watches: claims grow, Secrets are not read."""
    return {key(obj): digest(obj) for obj in applied if obj["kind"] not in {"PersistentVolumeClaim", "Secret"}}


def _staying(obj: Mapping[str, Any]) -> Json:
    labels = obj["metadata"].get("labels") or {}
    ours = {name: value for name, value in labels.items() if name in _OURS or name.startswith(POD_SECURITY)}
    match obj["kind"]:
        case "Namespace":
            return {"labels": ours}
        case "RoleBinding":
            return {"labels": ours, "roleRef": obj["roleRef"], "subjects": obj.get("subjects")}
        case "PersistentVolume":
            return {"labels": ours, "policy": obj["spec"]["persistentVolumeReclaimPolicy"]}
        case "Deployment":
            return {"labels": ours, "spec": {name: value for name, value in obj["spec"].items() if name != "replicas"}}
        case _:
            return {"labels": ours, "spec": obj.get("spec")}
