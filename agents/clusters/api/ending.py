"""Removes a namespace, and reports what keeps it from being removed."""

from __future__ import annotations

import time
from typing import Any

from agents.cause import Cause
from agents.clusters.api import names, volumes
from agents.clusters.api.client import ApiRefused, Connection
from agents.clusters.api.rights import Inside
from agents.runtimes.base import RuntimeFailure

POLL_SECONDS = 0.25

Json = dict[str, Any]


class StillThere(RuntimeFailure):
    """The namespace is still being removed, or something holds it."""

    def __init__(self, namespace: str, why: str) -> None:
        super().__init__(f"namespace {namespace} is not gone yet: {why}", cause=Cause.DELETING)


def find_ours(connection: Connection, namespace: str, *, installation: str) -> Json | None:
    """The namespace, or None. Raises RuntimeFailure if the namespace belongs to somebody else, because it is never
    taken over; raises StillThere if it is being removed.
    """
    found = connection.find(_path(namespace))
    if found is None:
        return None
    if not is_of(found, installation):
        message = f"namespace {namespace} exists, but does not belong to us"
        raise RuntimeFailure(message, cause=Cause.NOT_OURS, permanent=True)
    if "deletionTimestamp" in found["metadata"]:
        raise StillThere(namespace, blockers(found))
    return found


def end_namespace(connection: Connection, namespace: str, *, labels: dict[str, str], data: bool) -> None:
    """Ask for the removal of the namespace. Before that, its volume is released (`data`) or kept for the agent's next
    pod.
    """
    found = connection.find(_path(namespace))
    if found is None:
        return
    if not is_of(found, labels[names.INSTALLATION_LABEL]):
        raise RuntimeFailure(f"namespace {namespace} does not belong to us, so it is not removed", cause=Cause.NOT_OURS)
    if volume := _bound(connection, namespace, labels, is_ending="deletionTimestamp" in found["metadata"]):
        if data:
            volumes.release(connection, volume, labels=labels)
        else:
            volumes.keep(connection, volume, labels=labels)
    if "deletionTimestamp" not in found["metadata"]:
        connection.delete(_path(namespace))


def _bound(connection: Connection, namespace: str, labels: dict[str, str], *, is_ending: bool) -> Json | None:
    """The bound volume, or None. In a namespace that is being removed our rights may be gone and cannot be restored;
    its volume was kept before.
    """
    try:
        return volumes.bound(Inside(connection, namespace, labels=labels))
    except ApiRefused as refusal:
        if is_ending and refusal.status == 403:
            return None
        raise


def wait_until_gone(connection: Connection, namespace: str, *, until: float) -> None:
    """Wait until the namespace is gone. Raises StillThere, with the reason in the cluster's own words."""
    while (found := connection.find(_path(namespace))) is not None:
        if time.monotonic() >= until:
            raise StillThere(namespace, blockers(found))
        time.sleep(POLL_SECONDS)


def blockers(namespace: Json) -> str:
    """What the namespace controller reports as left: objects, finalizers, or an API that does not answer."""
    conditions = namespace.get("status", {}).get("conditions") or []
    said = [one["message"] for one in conditions if one.get("status") == "True" and one.get("message")]
    own = namespace["metadata"].get("finalizers") or []
    held = [f"finalizers of the namespace itself: {', '.join(own)}"] if own else []
    return "; ".join([*said, *held]) or "its objects are ending"


def is_of(found: Json, installation: str) -> bool:
    """Whether the object belongs to an agent of this installation."""
    labels = found["metadata"].get("labels") or {}
    return labels.get(names.INSTALLATION_LABEL) == installation and names.AGENT_LABEL in labels


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}"
