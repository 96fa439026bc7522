"""From a pod's specification to the objects of its namespace: pure, in the order in which they are applied.

Quota and limits come before the workload: without them the API server looks them up for each pod, which takes a tenth
of a second.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes import documents, names, network, workload
from agents.runtimes.kubernetes.place import Place

Manifest = dict[str, Any]

# A pod that ends slowly still counts when its successor comes.
PODS_AT_ONCE = 2


def namespace(spec: PodSpec, place: Place) -> Manifest:
    """The agent's own namespace, which refuses what is not restricted."""
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    labels = names.labels(installation=place.installation, agent_id=spec.agent_id)
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": spec.namespace, "labels": {**labels, **security}},
    }


def before_workload(spec: PodSpec, place: Place) -> list[Manifest]:
    """All that must be there before the first pod, but for its volume and its limits."""
    pull = [_pull_secret(spec, place)] if place.pull_secret else []
    return [
        _quota(spec, place),
        network.policy(spec.namespace, spec.agent_id, place),
        *secrets(spec, place),
        *pull,
        _service(spec, place),
    ]


def secrets(spec: PodSpec, place: Place) -> list[Manifest]:
    """One for each container: the engine's never holds the model key or the management token."""
    return [_secret(spec, place, names.GATEWAY_SECRET, documents.gateway(spec)), engine_secret(spec, place)]


def engine_secret(spec: PodSpec, place: Place) -> Manifest:
    """What each start of the engine's container reads."""
    return _secret(spec, place, names.ENGINE_SECRET, documents.bridge(spec))


def claim(spec: PodSpec, place: Place) -> Manifest:
    """The agent's disk, by its tier."""
    storage_class = {"storageClassName": place.storage_class} if place.storage_class else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(spec, place, names.CLAIM),
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": str(spec.limits.disk_bytes)}},
            **storage_class,
        },
    }


def claim_of(volume: Manifest, spec: PodSpec, place: Place) -> Manifest:
    """The claim on the volume that an earlier pod of this agent has left. A claim on more than it has binds to none."""
    wanted = claim(spec, place)
    given = {
        "volumeName": volume["metadata"]["name"],
        "storageClassName": volume["spec"].get("storageClassName", ""),
        "resources": {"requests": {"storage": volume["spec"]["capacity"]["storage"]}},
    }
    return {**wanted, "spec": {**wanted["spec"], **given}}


def deployment(spec: PodSpec, place: Place) -> Manifest:
    """The workload, with the hash of everything else: it is applied last, so who sees it knows that all is there."""
    labels = names.labels(installation=place.installation, agent_id=spec.agent_id)
    certificate = {names.CERTIFICATE_LABEL: spec.identity.fingerprint}
    annotations = {"annotations": dict(place.pod_annotations)} if place.pod_annotations else {}
    described = {"labels": {**labels, **certificate}, **annotations}
    body = {
        "replicas": 1,
        "revisionHistoryLimit": 1,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {names.AGENT_LABEL: spec.agent_id}},
        "template": {"metadata": described, "spec": workload.pod(spec, place)},
    }
    named = metadata(spec, place, names.POD)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**named, "annotations": {names.HASH_ANNOTATION: fingerprint(spec, place, body)}},
        "spec": body,
    }


def metadata(spec: PodSpec, place: Place, name: str) -> Manifest:
    labels = names.labels(installation=place.installation, agent_id=spec.agent_id)
    return {"name": name, "namespace": spec.namespace, "labels": labels}


def fingerprint(spec: PodSpec, place: Place, body: Manifest) -> str:
    """Of all that a deploy would apply but the documents, which change in place with every revision."""
    objects = [
        _quota(spec, place),
        network.policy(spec.namespace, spec.agent_id, place),
        *network.routes(spec, place),
        body,
    ]
    text = json.dumps(objects, sort_keys=True)
    return hashlib.sha256(f"{text}{place.pull_secret}".encode()).hexdigest()[:32]


def _secret(spec: PodSpec, place: Place, name: str, document: bytes) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(spec, place, name),
        "type": "Opaque",
        "data": {names.START_FILE: base64.b64encode(document).decode()},
    }


def _quota(spec: PodSpec, place: Place) -> Manifest:
    memory = spec.limits.memory_bytes + names.BRIDGE_BYTES + workload.backup_bytes(place) + workload.GATEWAY_BYTES
    cpu = spec.limits.cpu + workload.GATEWAY_CPU
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(spec, place, names.POD),
        "spec": {
            "hard": {
                "pods": str(PODS_AT_ONCE),
                "limits.memory": str(memory * PODS_AT_ONCE),
                "limits.cpu": _cpu(cpu * PODS_AT_ONCE),
                "persistentvolumeclaims": "1",
            }
        },
    }


def limits(spec: PodSpec, place: Place, *, secrets: Mapping[str, str]) -> Manifest:
    """For whatever would come without limits of its own.

    Its owners are the Secrets, by name and uid: so one that is gone shows here, and nobody needs to see any.
    """
    owners = [{"apiVersion": "v1", "kind": "Secret", "name": name, "uid": uid} for name, uid in secrets.items()]
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {**metadata(spec, place, names.POD), "ownerReferences": owners},
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "default": {"memory": "64Mi", "cpu": "100m", "ephemeral-storage": "64Mi"},
                    "defaultRequest": {"memory": "32Mi", "cpu": "10m", "ephemeral-storage": "16Mi"},
                }
            ]
        },
    }


def _service(spec: PodSpec, place: Place) -> Manifest:
    """Also while the engine is not ready: then the gateway says so itself."""
    ports = {"public": names.PUBLIC_PORT, "management": names.MANAGEMENT_PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(spec, place, names.POD),
        "spec": {
            "selector": {names.AGENT_LABEL: spec.agent_id},
            "publishNotReadyAddresses": True,
            "ports": [
                {"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in ports.items()
            ],
        },
    }


def _pull_secret(spec: PodSpec, place: Place) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(spec, place, names.PULL_SECRET),
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode((place.pull_secret or "").encode()).decode()},
    }


def _cpu(cores: Decimal) -> str:
    return f"{int(cores * 1000)}m"
