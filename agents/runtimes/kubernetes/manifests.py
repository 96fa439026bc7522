"""Builds the objects of a pod's namespace from the pod's specification. The functions are pure, and the objects are in
the order in which they are applied.
Quota and limits come before the workload: without them the API server would look them up for each pod, which takes a
tenth of a second.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agents.clusters.api import names, network, parts
from agents.clusters.api.parts import metadata
from agents.clusters.api.place import ClusterSettings
from agents.runtimes.base import PodSpec
from agents.runtimes.kubernetes import documents, workload

Manifest = dict[str, Any]

# An old pod that ends slowly still counts when the new pod starts.
PODS_AT_ONCE = 2


def namespace(spec: PodSpec, place: ClusterSettings) -> Manifest:
    """The agent's own namespace, which refuses pods that are not `restricted` (Pod Security Standards)."""
    return parts.namespace(spec.namespace, names.labels(installation=place.installation, agent_id=spec.agent_id))


def before_workload(spec: PodSpec, place: ClusterSettings) -> list[Manifest]:
    """All objects that must exist before the first pod, except for its volume and its limits."""
    return [
        _quota(spec, place),
        policy(spec, place),
        *secrets(spec, place),
        *parts.pull_secrets(metadata(spec, place, names.PULL_SECRET), place),
        _service(spec, place),
    ]


def policy(spec: PodSpec, place: ClusterSettings) -> Manifest:
    """Who reaches the pod, and whom it reaches."""
    return network.policy(spec.namespace, spec.agent_id, place, is_limited=bool(spec.egress_limited))


def secrets(spec: PodSpec, place: ClusterSettings) -> list[Manifest]:
    """One Secret for each container. The engine's Secret never contains the model key or the management token."""
    return [_secret(spec, place, names.GATEWAY_SECRET, documents.gateway(spec)), engine_secret(spec, place)]


def engine_secret(spec: PodSpec, place: ClusterSettings) -> Manifest:
    """The Secret that each start of the engine's container reads."""
    return _secret(spec, place, names.ENGINE_SECRET, documents.bridge(spec))


def claim(spec: PodSpec, place: ClusterSettings) -> Manifest:
    """The claim for the agent's disk, with the size of its tier."""
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


def claim_of(volume: Manifest, spec: PodSpec, place: ClusterSettings) -> Manifest:
    """The claim for the volume that an earlier pod of this agent has left. It asks for the volume's size, because a
    claim for more would not be bound.
    """
    wanted = claim(spec, place)
    given = {
        "volumeName": volume["metadata"]["name"],
        "storageClassName": volume["spec"].get("storageClassName", ""),
        "resources": {"requests": {"storage": volume["spec"]["capacity"]["storage"]}},
    }
    return {**wanted, "spec": {**wanted["spec"], **given}}


def deployment(spec: PodSpec, place: ClusterSettings) -> Manifest:
    """The workload. It contains the hash of all other objects and is applied last, so its hash shows that all objects
    exist.
    """
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


def fingerprint(spec: PodSpec, place: ClusterSettings, body: Manifest) -> str:
    """The hash of all objects that a deploy applies, except for the start documents, which change with every revision
    without a new deploy.
    """
    objects = [
        _quota(spec, place),
        policy(spec, place),
        *network.routes(spec, place),
        body,
    ]
    text = json.dumps(objects, sort_keys=True)
    return hashlib.sha256(f"{text}{place.pull_secret}".encode()).hexdigest()[:32]


def _secret(spec: PodSpec, place: ClusterSettings, name: str, document: bytes) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(spec, place, name),
        "type": "Opaque",
        "data": {names.START_FILE: base64.b64encode(document).decode()},
    }


def _quota(spec: PodSpec, place: ClusterSettings) -> Manifest:
    memory = spec.limits.memory_bytes + names.BRIDGE_BYTES + workload.backup_bytes(place) + workload.GATEWAY_BYTES
    cpu = spec.limits.cpu + workload.BRIDGE_CPU + workload.GATEWAY_CPU
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(spec, place, names.POD),
        "spec": {
            "hard": {
                "pods": str(PODS_AT_ONCE),
                "limits.memory": str(memory * PODS_AT_ONCE),
                "limits.cpu": f"{int(cpu * PODS_AT_ONCE * 1000)}m",
                "persistentvolumeclaims": "1",
            }
        },
    }


def limits(spec: PodSpec, place: ClusterSettings, *, secrets: Mapping[str, str]) -> Manifest:
    """Default limits for containers without own limits.
    The Secrets are its owners, by name and uid. So a missing Secret shows here, and no right to read Secrets is needed.
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


def _service(spec: PodSpec, place: ClusterSettings) -> Manifest:
    """The service leads to the pod even while the engine is not ready; then the gateway itself says so."""
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
