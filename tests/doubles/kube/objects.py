"""Small parts of objects that several parts of the cluster create."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

from tests.doubles.kube.defaults import STORAGE_CLASS
from tests.doubles.kube.resources import Object
from tests.doubles.kube.times import now


def condition(type: str, status: bool | str, reason: str = "", message: str = "") -> Object:
    word = status if isinstance(status, str) else str(status)
    return {"type": type, "status": word, "reason": reason, "message": message, "lastTransitionTime": now()}


def with_conditions(old: Iterable[Object] | None, new: Iterable[Object]) -> list[Object]:
    """`old` with the new conditions. A condition's time is the last change of its status."""
    found = {entry["type"]: entry for entry in old or []}
    for entry in new:
        before = found.get(entry["type"])
        is_same = before is not None and before["status"] == entry["status"]
        since = before["lastTransitionTime"] if before and is_same else entry["lastTransitionTime"]
        found[entry["type"]] = {**entry, "lastTransitionTime": since}
    return list(found.values())


def owner(obj: Object) -> Object:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_owned_by(obj: Object, uid: str) -> bool:
    return any(reference["uid"] == uid for reference in obj["metadata"].get("ownerReferences", []))


def is_going(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def first_objects() -> Iterator[tuple[str, Object]]:
    """The objects of a new cluster."""
    for name in ("default", "kube-system"):
        labels = {"kubernetes.io/metadata.name": name}
        space: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {**_metadata(name), "labels": labels}}
        yield "Namespace", {**space, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    yield (
        "StorageClass",
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {**_metadata(STORAGE_CLASS), "annotations": annotations},
            "provisioner": "example.com/directories",
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        },
    )


def _metadata(name: str) -> Object:
    return {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now()}
