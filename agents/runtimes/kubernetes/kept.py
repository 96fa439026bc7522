"""What of an object in a cluster is to stay as it was told: a digest that the driver notes and the observer compares.

It is taken of the API server's own answer, with all defaults, so whatever somebody adds, changes or takes away shows.
Who may watch Secrets may read them, so nobody does: the LimitRange names them as its owners, and the cluster's garbage
collector takes the name of one that is gone off it, which shows.
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
# Noted only once the observer tells of it: one of an older release never does.
CLAIM = f"PersistentVolumeClaim/{names.CLAIM}"
# Without these an agent reaches what it must not, or may be what it must not.
SECURITY = frozenset({"Namespace", "NetworkPolicy", "RoleBinding"})

_OURS = {names.MANAGED_BY_LABEL, names.INSTALLATION_LABEL, names.AGENT_LABEL}


def key(obj: Mapping[str, Any]) -> str:
    """`Kind/name`; a namespace's own is `Namespace`, for each generation has another name."""
    return "Namespace" if obj["kind"] == "Namespace" else f"{obj['kind']}/{obj['metadata']['name']}"


def is_security(key: str) -> bool:
    """Of a key, or of words that begin with one."""
    return key.partition("/")[0].split()[0] in SECURITY


def was_gone(obj: Mapping[str, Any]) -> str:
    return f"{key(obj)} was gone"


def was_changed(obj: Mapping[str, Any]) -> str:
    return f"{key(obj)} was changed"


def digest(obj: Mapping[str, Any]) -> str:
    """16 hexadecimal digits of what is to stay; of a Secret its identity, which another one of its name has not."""
    if obj["kind"] == "Secret":
        return str(obj["metadata"]["uid"])
    text = json.dumps(_staying(obj), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of(*applied: Mapping[str, Any]) -> Digests:
    """Of what the API server answered, but for the claim."""
    return {name: digest(obj) for obj in applied if (name := key(obj)) != CLAIM}


def secrets(digests: Digests) -> dict[str, str]:
    """The identities of the Secrets among these, by their names."""
    return {key.partition("/")[2]: uid for key, uid in digests.items() if is_secret(key)}


def is_secret(key: str) -> bool:
    return key.partition("/")[0] == "Secret"


def _staying(obj: Mapping[str, Any]) -> Json:
    labels = obj["metadata"].get("labels") or {}
    ours = {name: value for name, value in labels.items() if name in _OURS or name.startswith(POD_SECURITY)}
    match obj["kind"]:
        case "Namespace" | "PersistentVolumeClaim":  # a claim grows, and is bound; nothing else of it can be changed
            return {"labels": ours}
        case "RoleBinding":
            return {"labels": ours, "roleRef": obj["roleRef"], "subjects": obj.get("subjects")}
        case "PersistentVolume":
            return {"labels": ours, "policy": obj["spec"]["persistentVolumeReclaimPolicy"]}
        case "Deployment":
            return {"labels": ours, "spec": {name: value for name, value in obj["spec"].items() if name != "replicas"}}
        case _:
            return {"labels": ours, "spec": obj.get("spec")}
