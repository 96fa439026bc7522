"""An agent's volume: it outlives its namespace, is used again in the next one, and is removed only on request.
A claim belongs to a namespace, and each generation of a pod has a new namespace. So the volume is set to stay when its
claim goes. In the meantime it is found by the agent's label, and then it is reserved for the next claim.
"""

from __future__ import annotations

import logging
from typing import Any

from agents.cause import Cause
from agents.clusters.api import names
from agents.clusters.api.client import ApiRefused, Connection
from agents.clusters.api.credentials import official_client
from agents.clusters.api.rights import Inside
from agents.runtimes.base import RuntimeFailure

log = logging.getLogger(__name__)

VOLUMES = "/api/v1/persistentvolumes"
RETAIN, DELETE = "Retain", "Delete"
RELEASED, AVAILABLE, BOUND = "Released", "Available", "Bound"

Json = dict[str, Any]


def claim_of(inside: Inside) -> Json | None:
    """The claim in this namespace, or None."""
    return inside.find(f"/api/v1/namespaces/{inside.namespace}/persistentvolumeclaims/{names.CLAIM}")


def bound(inside: Inside) -> Json | None:
    """The volume that is bound to this namespace's claim, or None."""
    claim = claim_of(inside)
    name = claim["spec"].get("volumeName") if claim else None
    return inside.connection.find(f"{VOLUMES}/{name}") if name else None


def keep(connection: Connection, volume: Json, *, labels: dict[str, str]) -> Json:
    """Make the volume outlive its claim, and label it so that the agent's next pod finds it. Returns the volume."""
    known = volume["metadata"].get("labels") or {}
    if volume["spec"]["persistentVolumeReclaimPolicy"] != RETAIN or not labels.items() <= known.items():
        return keep_named(connection, volume["metadata"]["name"], labels=labels)
    return volume


def keep_named(connection: Connection, name: str, *, labels: dict[str, str]) -> Json:
    """The same without reading the volume first."""
    change = {"metadata": {"labels": labels}, "spec": {"persistentVolumeReclaimPolicy": RETAIN}}
    return connection.merge(f"{VOLUMES}/{name}", change)


def release(connection: Connection, volume: Json, *, labels: dict[str, str]) -> None:
    """Let the volume go together with its claim; then the cluster frees the storage. Our labels are set as in every
    change of ours.
    """
    if volume["spec"]["persistentVolumeReclaimPolicy"] != DELETE:
        change = {"metadata": {"labels": labels}, "spec": {"persistentVolumeReclaimPolicy": DELETE}}
        connection.merge(f"{VOLUMES}/{volume['metadata']['name']}", change)


def release_left(connection: Connection, *, labels: dict[str, str]) -> bool:
    """Release all volumes of this agent that have no claim. Returns whether the agent has no volumes at all."""
    found = _of_agent(connection, labels)
    for volume in filter(_is_left, found):
        release(connection, volume, labels=labels)
    return not found


def free(connection: Connection, *, labels: dict[str, str]) -> Json | None:
    """The volume that an earlier claim of this agent has left, or None.
    The cluster takes a moment to notice that a claim is gone. Until then this raises RuntimeFailure, because a new
    claim would get a new, empty volume. A volume that somebody has deleted, for example because its disk is lost, is
    ignored, because no claim can get it.
    """
    found = [one for one in _of_agent(connection, labels) if "deletionTimestamp" not in one["metadata"]]
    left = [volume for volume in found if _is_left(volume)]
    if not left and any(_phase(volume) == BOUND for volume in found):
        raise RuntimeFailure("the agent's volume is still bound to an earlier claim", cause=Cause.VOLUME)
    return left[0] if left else None


def _of_agent(connection: Connection, labels: dict[str, str]) -> list[Json]:
    selector = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
    return list(connection.get(VOLUMES, {"labelSelector": selector})["items"])


def _is_left(volume: Json) -> bool:
    return _phase(volume) in {RELEASED, AVAILABLE}


def _phase(volume: Json) -> str:
    return str(volume.get("status", {}).get("phase"))


def reserve(connection: Connection, volume: Json, *, namespace: str) -> None:
    """Reserve the volume for the claim in this namespace. The uid of the old claim is removed from the reference."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace,
        "name": names.CLAIM,
        "uid": None,
        "resourceVersion": None,
    }
    connection.merge(f"{VOLUMES}/{volume['metadata']['name']}", {"spec": {"claimRef": claim}})


def grow_to(inside: Inside, claim: Json, *, wanted_bytes: int) -> None:
    """Ask for a larger disk if the tier's disk is larger now. If the storage cannot grow, the disk stays as it is."""
    asked = official_client().utils.quantity.parse_quantity(claim["spec"]["resources"]["requests"]["storage"])
    if asked >= wanted_bytes:
        return
    path = f"/api/v1/namespaces/{inside.namespace}/persistentvolumeclaims/{names.CLAIM}"
    try:
        inside.merge(path, {"spec": {"resources": {"requests": {"storage": str(wanted_bytes)}}}})
    except ApiRefused as refusal:
        log.warning("a volume could not be enlarged", extra={"namespace": inside.namespace, "why": str(refusal)})
