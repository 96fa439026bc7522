"""An agent's volume: it outlives its namespace, goes over to the next one, and goes for good only when that is asked.

A claim lives in a namespace, and each generation has a new one. So the volume is told to stay when its claim goes, is
known by the agent's label meanwhile, and is then reserved for the next claim.
"""

from __future__ import annotations

import logging
from typing import Any

from agents.runtimes.kubernetes import names
from agents.runtimes.kubernetes.client import Connection, Refused
from agents.runtimes.kubernetes.credentials import official_client
from agents.runtimes.kubernetes.rights import Inside

log = logging.getLogger(__name__)

VOLUMES = "/api/v1/persistentvolumes"
RETAIN, DELETE = "Retain", "Delete"
RELEASED, AVAILABLE = "Released", "Available"

Json = dict[str, Any]


def bound_name(inside: Inside) -> str | None:
    """Of the volume of this namespace's claim, if it has one yet."""
    claim = inside.find(f"/api/v1/namespaces/{inside.namespace}/persistentvolumeclaims/{names.CLAIM}")
    return claim["spec"].get("volumeName") if claim else None


def bound(inside: Inside) -> Json | None:
    """The volume itself."""
    name = bound_name(inside)
    return inside.connection.find(f"{VOLUMES}/{name}") if name else None


def keep(connection: Connection, volume: Json, *, labels: dict[str, str]) -> Json:
    """Make it outlive its claim, and findable by the agent; the volume as it is then."""
    known = volume["metadata"].get("labels") or {}
    if volume["spec"]["persistentVolumeReclaimPolicy"] != RETAIN or not labels.items() <= known.items():
        return keep_named(connection, volume["metadata"]["name"], labels=labels)
    return volume


def keep_named(connection: Connection, name: str, *, labels: dict[str, str]) -> Json:
    """The same without a look at it."""
    change = {"metadata": {"labels": labels}, "spec": {"persistentVolumeReclaimPolicy": RETAIN}}
    return connection.merge(f"{VOLUMES}/{name}", change)


def release(connection: Connection, volume: Json, *, labels: dict[str, str]) -> None:
    """Let it go with its claim; the storage is freed by the cluster. What is changed carries our labels, always."""
    if volume["spec"]["persistentVolumeReclaimPolicy"] != DELETE:
        change = {"metadata": {"labels": labels}, "spec": {"persistentVolumeReclaimPolicy": DELETE}}
        connection.merge(f"{VOLUMES}/{volume['metadata']['name']}", change)


def release_left(connection: Connection, *, labels: dict[str, str]) -> bool:
    """Let go all volumes of this agent that no claim has now. Whether none of any kind is left."""
    found = of_agent(connection, labels=labels)
    for volume in filter(is_left_behind, found):
        release(connection, volume, labels=labels)
    return not found


def left_behind(connection: Connection, *, labels: dict[str, str]) -> list[Json]:
    """The volumes of this agent that no claim has now."""
    return list(filter(is_left_behind, of_agent(connection, labels=labels)))


def of_agent(connection: Connection, *, labels: dict[str, str]) -> list[Json]:
    selector = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
    found: list[Json] = connection.get(VOLUMES, {"labelSelector": selector})["items"]
    return found


def is_left_behind(volume: Json) -> bool:
    return volume.get("status", {}).get("phase") in {RELEASED, AVAILABLE}


def reserve(connection: Connection, volume: Json, *, namespace: str) -> None:
    """Only the claim in this namespace may have it: the reference to the old one goes with its uid."""
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
    """Ask for a larger disk where the tier has grown. Not every storage can: then it stays as it is."""
    asked = official_client().utils.quantity.parse_quantity(claim["spec"]["resources"]["requests"]["storage"])
    if asked >= wanted_bytes:
        return
    path = f"/api/v1/namespaces/{inside.namespace}/persistentvolumeclaims/{names.CLAIM}"
    try:
        inside.merge(path, {"spec": {"resources": {"requests": {"storage": str(wanted_bytes)}}}})
    except Refused as refusal:
        log.warning("a volume does not grow", extra={"namespace": inside.namespace, "why": str(refusal)})
