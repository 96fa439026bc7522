"""Deployments, their replica sets and the pods of these."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

from tests.doubles.kube import admission
from tests.doubles.kube.cluster import ClusterDouble
from tests.doubles.kube.failures import Failure
from tests.doubles.kube.objects import condition, is_going, is_owned_by, owner, with_conditions
from tests.doubles.kube.resources import BY_KIND, Object
from tests.doubles.kube.times import now

_HASH = "pod-template-hash"
_ENDED = {"Succeeded", "Failed"}


def reconcile(cluster: ClusterDouble, namespace: str) -> None:
    for deployment in cluster.store.all("Deployment", namespace):
        if not is_going(deployment):
            _roll(cluster, deployment)
    for replica_set in cluster.store.all("ReplicaSet", namespace):
        if not is_going(replica_set):
            _fill(cluster, replica_set)


def report(cluster: ClusterDouble, namespace: str) -> None:
    """Update the status of quotas, replica sets and deployments from the present pods."""
    for quota in cluster.store.all("ResourceQuota", namespace):
        cluster.registry.set_status("ResourceQuota", quota, **admission.quota_status(cluster.store, quota))
    for replica_set in cluster.store.all("ReplicaSet", namespace):
        _report_replica_set(cluster, replica_set)
    for deployment in cluster.store.all("Deployment", namespace):
        _report_deployment(cluster, deployment)


def _owned(cluster: ClusterDouble, kind: str, by: Object) -> list[Object]:
    found = cluster.store.all(kind, by["metadata"]["namespace"])
    return [obj for obj in found if is_owned_by(obj, by["metadata"]["uid"])]


def _roll(cluster: ClusterDouble, deployment: Object) -> None:
    """Roll out. With Recreate, new pods start after the old ones ended; else old pods end when the new are ready."""
    wanted = deployment["spec"].get("replicas", 1)
    digest = _digest(deployment["spec"]["template"])
    sets = _owned(cluster, "ReplicaSet", deployment)
    current = next((found for found in sets if found["metadata"]["labels"][_HASH] == digest), None)
    old = [found for found in sets if found is not current]
    if deployment["spec"]["strategy"]["type"] == "Recreate":
        for found in old:
            _scale(cluster, found, 0)
        if any(pod["status"].get("phase") not in _ENDED for found in old for pod in _owned(cluster, "Pod", found)):
            return
    if current is None:
        cluster.store.put("ReplicaSet", _replica_set(deployment, digest, wanted))
        return
    _scale(cluster, current, wanted)
    if current.get("status", {}).get("readyReplicas", 0) >= wanted:
        for found in old:
            _scale(cluster, found, 0)


def _digest(template: Object) -> str:
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def _scale(cluster: ClusterDouble, replica_set: Object, replicas: int) -> None:
    def revision(live: Object) -> Object:
        if live["spec"]["replicas"] == replicas:
            return live
        metadata = {**live["metadata"], "generation": live["metadata"].get("generation", 1) + 1}
        return {**live, "metadata": metadata, "spec": {**live["spec"], "replicas": replicas}}

    metadata = replica_set["metadata"]
    cluster.registry.revise("ReplicaSet", metadata["namespace"], metadata["name"], revision)


def _replica_set(deployment: Object, digest: str, replicas: int) -> Object:
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = spec["template"]
    labels = {**template["metadata"]["labels"], _HASH: digest}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            **_identity(metadata["namespace"], f"{metadata['name']}-{digest}"),
            "labels": labels,
            "ownerReferences": [owner(deployment)],
            "generation": 1,
            "creationTimestamp": now(),
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {**spec["selector"].get("matchLabels", {}), _HASH: digest}},
            "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
        },
        "status": {"replicas": 0},
    }


def _identity(namespace: str, name: str) -> Object:
    return {"namespace": namespace, "name": name, "uid": str(uuid.uuid4())}


def _active(cluster: ClusterDouble, replica_set: Object) -> list[Object]:
    pods = _owned(cluster, "Pod", replica_set)
    return [pod for pod in pods if not is_going(pod) and pod["status"].get("phase") not in _ENDED]


def _fill(cluster: ClusterDouble, replica_set: Object) -> None:
    metadata = replica_set["metadata"]
    active = _active(cluster, replica_set)
    missing = replica_set["spec"]["replicas"] - len(active)
    for pod in active[: max(0, -missing)]:
        cluster.registry.delete(BY_KIND["Pod"], metadata["namespace"], pod["metadata"]["name"])
    if missing <= 0:
        _set_failure(cluster, replica_set, None)
        return
    if cluster.is_backing_off(metadata["uid"]) and not _may_fit(cluster, replica_set):
        return
    try:
        for _ in range(missing):
            cluster.registry.create(BY_KIND["Pod"], _pod(replica_set))
    except Failure as failure:
        cluster.back_off(metadata["uid"], metadata["namespace"])
        _set_failure(cluster, replica_set, failure)
    else:
        cluster.forget_retries(metadata["uid"])
        _set_failure(cluster, replica_set, None)


def _may_fit(cluster: ClusterDouble, replica_set: Object) -> bool:
    """Whether the refused pod would be accepted now: after a quota was raised, no back-off has to pass."""
    try:
        cluster.registry.create(BY_KIND["Pod"], _pod(replica_set), dry=True)
    except Failure:
        return False
    return True


def _pod(replica_set: Object) -> Object:
    metadata, template = replica_set["metadata"], replica_set["spec"]["template"]
    given: dict[str, Any] = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{name: given[name] for name in ("labels", "annotations") if given.get(name)},
            "namespace": metadata["namespace"],
            "name": f"{metadata['name']}-{uuid.uuid4().hex[:5]}",
            "ownerReferences": [owner(replica_set)],
        },
        "spec": template["spec"],
    }


def _set_failure(cluster: ClusterDouble, replica_set: Object, failure: Failure | None) -> None:
    before = replica_set.get("status", {}).get("conditions", [])
    if failure is None:
        if before:
            cluster.registry.set_status("ReplicaSet", replica_set, conditions=[])
        return
    cluster.registry.event(
        replica_set, "FailedCreate", f"Error creating: {failure.message}", source="replicaset-controller"
    )
    # The pod's name differs each time. A changed message would be a change, and the cluster would never come to rest.
    found = condition("ReplicaFailure", True, "FailedCreate", failure.message)
    if not before:
        cluster.registry.set_status("ReplicaSet", replica_set, conditions=[found])


def _counts(pods: list[Object]) -> dict[str, int]:
    ready = sum(is_ready(pod) for pod in pods)
    return {"replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready}


def is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def _report_replica_set(cluster: ClusterDouble, replica_set: Object) -> None:
    counts = _counts(_active(cluster, replica_set))
    seen = replica_set["metadata"].get("generation", 1)
    status = {"fullyLabeledReplicas": counts["replicas"], "observedGeneration": seen, **counts}
    cluster.registry.set_status("ReplicaSet", replica_set, **status)


def _report_deployment(cluster: ClusterDouble, deployment: Object) -> None:
    digest = _digest(deployment["spec"]["template"])
    sets = _owned(cluster, "ReplicaSet", deployment)
    counts = _counts([pod for found in sets for pod in _active(cluster, found)])
    updated = [pod for found in sets if found["metadata"]["labels"][_HASH] == digest for pod in _active(cluster, found)]
    wanted = deployment["spec"].get("replicas", 1)
    counts |= {"updatedReplicas": len(updated), "unavailableReplicas": max(0, wanted - counts["availableReplicas"])}
    status = deployment.get("status", {})
    conditions = with_conditions(
        [found for found in status.get("conditions", []) if found["type"] != "ReplicaFailure"],
        [_available(counts, wanted), _progressing(counts, wanted), *_failures(sets)],
    )
    cluster.registry.set_status(
        "Deployment",
        deployment,
        observedGeneration=deployment["metadata"].get("generation", 1),
        conditions=conditions,
        **counts,
    )


def _available(counts: dict[str, int], wanted: int) -> Object:
    if counts["availableReplicas"] >= wanted:
        return condition("Available", True, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    message = "Deployment does not have minimum availability."
    return condition("Available", False, "MinimumReplicasUnavailable", message)


def _progressing(counts: dict[str, int], wanted: int) -> Object:
    if counts["availableReplicas"] >= wanted:
        return condition("Progressing", True, "NewReplicaSetAvailable", "ReplicaSet has successfully progressed.")
    return condition("Progressing", True, "ReplicaSetUpdated", "ReplicaSet is progressing.")


def _failures(sets: list[Object]) -> list[Object]:
    return [found for replica_set in sets for found in replica_set.get("status", {}).get("conditions", [])]
