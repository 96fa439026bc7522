"""The deletion of a namespace: its objects are deleted, and its conditions name the objects that remain."""

from __future__ import annotations

from collections import Counter

from tests.doubles.kube.cluster import ClusterDouble
from tests.doubles.kube.objects import condition, is_going, with_conditions
from tests.doubles.kube.resources import BY_KIND, NAMESPACED, Object
from tests.doubles.kube.store import place

_ORDER = sorted(NAMESPACED, key=lambda kind: kind == "Event")


def reconcile(cluster: ClusterDouble, name: str) -> None:
    namespace = cluster.store.get("Namespace", "", name)
    if namespace is None or not is_going(namespace):
        return
    for kind in _ORDER:
        for obj in cluster.store.all(kind, name):
            if not is_going(obj) or _is_ended_pod(obj):
                cluster.registry.delete(BY_KIND[kind], *place(obj))
    left = [obj for kind in NAMESPACED for obj in cluster.store.all(kind, name)]
    conditions = with_conditions(namespace["status"].get("conditions"), _conditions(left))
    cluster.registry.set_status("Namespace", namespace, phase="Terminating", conditions=conditions)
    if not left:
        cluster.registry.revise("Namespace", "", name, _finalized)


def _is_ended_pod(obj: Object) -> bool:
    return obj["kind"] == "Pod" and "nodeName" not in obj["spec"] and not obj["metadata"].get("finalizers")


def _finalized(live: Object) -> Object:
    return {**live, "spec": {**live.get("spec", {}), "finalizers": []}}


def _conditions(left: list[Object]) -> list[Object]:
    found = [
        condition(
            "NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered", "All resources successfully discovered"
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            False,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        condition(
            "NamespaceDeletionContentFailure",
            False,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
    ]
    kinds = Counter(_named(obj) for obj in left)
    finalizers = Counter(name for obj in left for name in obj["metadata"].get("finalizers", []))
    return [*found, _remaining(kinds), _waiting(finalizers)]


def _named(obj: Object) -> str:
    resource = BY_KIND[obj["kind"]]
    return f"{resource.plural}.{resource.group}"


def _remaining(kinds: Counter[str]) -> Object:
    if not kinds:
        return condition("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed")
    listed = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(kinds.items()))
    return condition(
        "NamespaceContentRemaining", True, "SomeResourcesRemain", f"Some resources are remaining: {listed}"
    )


def _waiting(finalizers: Counter[str]) -> Object:
    about = "NamespaceFinalizersRemaining"
    if not finalizers:
        return condition(about, False, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
    listed = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
    message = f"Some content in the namespace has finalizers remaining: {listed}"
    return condition(about, True, "SomeFinalizersRemain", message)
