"""Deletes objects whose owners are deleted."""

from __future__ import annotations

from tests.doubles.kube.cluster import ClusterDouble
from tests.doubles.kube.objects import is_going, is_owned_by
from tests.doubles.kube.resources import BY_KIND, NAMESPACED, Object

_FOREGROUND = "foregroundDeletion"


def collect(cluster: ClusterDouble, namespace: str) -> None:
    found = [(kind, obj) for kind in NAMESPACED if kind != "Event" for obj in cluster.store.all(kind, namespace)]
    living = {obj["metadata"]["uid"]: obj for _, obj in found}
    for kind, obj in found:
        owners = obj["metadata"].get("ownerReferences")
        if not owners or is_going(obj):
            continue
        if not any(_keeps(living.get(owner["uid"])) for owner in owners):
            _delete(cluster, kind, obj)
        elif gone := {owner["uid"] for owner in owners} - living.keys():
            _forget(cluster, kind, obj, gone)
    for kind, obj in found:
        if _is_waiting(obj) and not any(is_owned_by(other, obj["metadata"]["uid"]) for _, other in found):
            _let_go(cluster, kind, obj)


def _is_waiting(owner: Object) -> bool:
    return is_going(owner) and _FOREGROUND in owner["metadata"].get("finalizers", [])


def _keeps(owner: Object | None) -> bool:
    return owner is not None and not _is_waiting(owner)


def _delete(cluster: ClusterDouble, kind: str, obj: Object) -> None:
    metadata = obj["metadata"]
    if cluster.store.get(kind, metadata["namespace"], metadata["name"]):
        cluster.registry.delete(BY_KIND[kind], metadata["namespace"], metadata["name"])


def _forget(cluster: ClusterDouble, kind: str, obj: Object, gone: set[str]) -> None:
    """Remove the deleted owners from the object's list of owners."""

    def revision(live: Object) -> Object:
        rest = [owner for owner in live["metadata"].get("ownerReferences", []) if owner["uid"] not in gone]
        return {**live, "metadata": {**live["metadata"], "ownerReferences": rest}}

    cluster.registry.revise(kind, obj["metadata"]["namespace"], obj["metadata"]["name"], revision)


def _let_go(cluster: ClusterDouble, kind: str, obj: Object) -> None:
    def revision(live: Object) -> Object:
        rest = [name for name in live["metadata"].get("finalizers", []) if name != _FOREGROUND]
        return {**live, "metadata": {**live["metadata"], "finalizers": rest}}

    cluster.registry.revise(kind, obj["metadata"]["namespace"], obj["metadata"]["name"], revision)
