"""Detects changes of a cluster's objects by others: the driver notes a digest of each object, and the observer compares
it.
The digest is made from the API server's answer, with all defaults, so any field that somebody adds, changes or removes
shows.
Watching Secrets would need the right to read them, so Secrets are not watched. Instead, the LimitRange names them as
its owners. If a Secret is gone, the cluster's garbage collector removes its name from the LimitRange, and that shows.
Fields that others may change are left out: a workload's replicas, other labels of a namespace, and all status.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agents.clusters.api import names

Json = dict[str, Any]
Digests = dict[str, str]  # by the key of each object

POD_SECURITY = "pod-security.kubernetes.io/"
# Noted only when the observer has reported it: an observer of an older release never reports claims.
CLAIM = f"PersistentVolumeClaim/{names.CLAIM}"
# Without these objects an agent could reach or do things that it must not.
SECURITY = frozenset({"Namespace", "NetworkPolicy", "RoleBinding"})

_OURS = {names.MANAGED_BY_LABEL, names.INSTALLATION_LABEL, names.AGENT_LABEL}


def key(obj: Mapping[str, Any]) -> str:
    """`Kind/name`. The namespace itself has the key `Namespace`, because its name differs for each generation of the
    pod.
    """
    return "Namespace" if obj["kind"] == "Namespace" else f"{obj['kind']}/{obj['metadata']['name']}"


def is_security(key: str) -> bool:
    """Whether the object is protective. Accepts a key, or a text that starts with a key."""
    return key.partition("/")[0].split()[0] in SECURITY


def was_gone(obj: Mapping[str, Any]) -> str:
    return f"{key(obj)} was gone"


def was_changed(obj: Mapping[str, Any]) -> str:
    return f"{key(obj)} was changed"


def digest(obj: Mapping[str, Any]) -> str:
    """16 hexadecimal digits that represent the fields which must stay. For a Secret it is its uid, because a new Secret
    with the same name has another uid.
    """
    if obj["kind"] == "Secret":
        return str(obj["metadata"]["uid"])
    text = json.dumps(_staying(obj), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of(*applied: Mapping[str, Any]) -> Digests:
    """The digests of objects in the API server's answers, except for the claim."""
    return {name: digest(obj) for obj in applied if (name := key(obj)) != CLAIM}


def secrets(digests: Digests) -> dict[str, str]:
    """The uids of the Secrets among these digests, by name."""
    return {key.partition("/")[2]: uid for key, uid in digests.items() if is_secret(key)}


def is_secret(key: str) -> bool:
    return key.partition("/")[0] == "Secret"


def _staying(obj: Mapping[str, Any]) -> Json:
    labels = obj["metadata"].get("labels") or {}
    ours = {name: value for name, value in labels.items() if name in _OURS or name.startswith(POD_SECURITY)}
    match obj["kind"]:
        case "Namespace" | "PersistentVolumeClaim":  # a claim grows and is bound; its other fields cannot be changed
            return {"labels": ours}
        case "RoleBinding":
            return {"labels": ours, "roleRef": obj["roleRef"], "subjects": obj.get("subjects")}
        case "PersistentVolume":
            return {"labels": ours, "policy": obj["spec"]["persistentVolumeReclaimPolicy"]}
        case "Deployment":
            return {"labels": ours, "spec": {name: value for name, value in obj["spec"].items() if name != "replicas"}}
        case _:
            return {"labels": ours, "spec": obj.get("spec")}
