"""Chooses the node for a pod, or says why no node fits."""

from __future__ import annotations

from collections import Counter

from tests.doubles.kube import volumes
from tests.doubles.kube.cluster import ClusterDouble
from tests.doubles.kube.loads import Load, load_of
from tests.doubles.kube.objects import condition, is_going, with_conditions
from tests.doubles.kube.quantities import quantity
from tests.doubles.kube.resources import Object
from tests.doubles.kube.trouble import UNSCHEDULABLE

_PREEMPTION = "preemption: 0/{0} nodes are available: {0} No preemption victims found for incoming pod."


def reconcile(cluster: ClusterDouble, namespace: str) -> None:
    for pod in cluster.store.all("Pod", namespace):
        if "nodeName" in pod["spec"] or is_going(pod):
            continue
        why = _refusal_of_claims(cluster, pod)
        node, refusals = (None, Counter[str]()) if why else _choose(cluster, pod)
        if node is None:
            _refuse(cluster, pod, why or _why(refusals))
        elif _has_volumes(cluster, pod, node):
            _place(cluster, pod, node)


def _refusal_of_claims(cluster: ClusterDouble, pod: Object) -> str:
    nodes = len(cluster.store.all("Node"))
    for name in volumes.claims_of(pod):
        claim = cluster.store.get("PersistentVolumeClaim", pod["metadata"]["namespace"], name)
        if claim is None:
            return f'0/{nodes} nodes are available: persistentvolumeclaim "{name}" not found.'
        if is_going(claim):
            return f'0/{nodes} nodes are available: persistentvolumeclaim "{name}" is being deleted.'
        wanted = claim["spec"].get("volumeName")
        if wanted and claim["status"]["phase"] != "Bound":
            return f"0/{nodes} nodes are available: pod has unbound immediate PersistentVolumeClaims."
    return ""


def _has_volumes(cluster: ClusterDouble, pod: Object, node: str) -> bool:
    """Provision the pod's claims for this node. Returns whether all claims are bound; the pod is placed only then."""
    namespace, is_bound = pod["metadata"]["namespace"], True
    for name in volumes.claims_of(pod):
        claim = cluster.store.get("PersistentVolumeClaim", namespace, name)
        if claim and claim["status"]["phase"] != "Bound":
            volumes.select_node(cluster, claim, node)
            volumes.provision(cluster, namespace)
            claim = cluster.store.get("PersistentVolumeClaim", namespace, name)
        is_bound &= claim is None or claim["status"]["phase"] == "Bound"
    return is_bound


def _choose(cluster: ClusterDouble, pod: Object) -> tuple[str | None, Counter[str]]:
    """The fitting node with the fewest pods, and the reasons why other nodes do not fit."""
    refusals: Counter[str] = Counter()
    wanted, fitting = load_of(pod), []
    for node in cluster.store.all("Node"):
        why = _misfit(cluster, pod, node, wanted)
        if why:
            refusals[why] += 1
        else:
            fitting.append(node["metadata"]["name"])
    return min(fitting, key=lambda name: (cluster.loads.of(name)["pods"], name), default=None), refusals


def _misfit(cluster: ClusterDouble, pod: Object, node: Object, load: Load) -> str:
    labels = node["metadata"].get("labels", {})
    wanted = pod["spec"].get("nodeSelector") or {}
    if cluster.troubles.has(pod["metadata"]["namespace"], UNSCHEDULABLE):
        return "Insufficient memory"
    if not wanted.items() <= labels.items():
        return "node(s) didn't match Pod's node affinity/selector"
    if node["spec"].get("unschedulable"):
        return "node(s) were unschedulable"
    for taint in node["spec"].get("taints", []):
        if not any(_tolerates(toleration, taint) for toleration in pod["spec"].get("tolerations", [])):
            return f"node(s) had untolerated taint(s) {{{taint['key']}: {taint.get('value', '')}}}"
    return _lack(node, load, cluster.loads.of(node["metadata"]["name"]))


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return (toleration.get("key"), toleration.get("value", "")) == (taint["key"], taint.get("value", ""))


def _lack(node: Object, wanted: Load, used: Load) -> str:
    allocatable = node["status"]["allocatable"]
    for name in ("pods", "cpu", "memory"):
        if used[name] + wanted[name] > quantity(allocatable[name]) * 1000:
            return "Too many pods" if name == "pods" else f"Insufficient {name}"
    return ""


def _why(refusals: Counter[str]) -> str:
    nodes = refusals.total()
    listed = ", ".join(f"{count} {why}" for why, count in sorted(refusals.items()))
    if not nodes:
        return "no nodes available to schedule pods"
    return f"0/{nodes} nodes are available: {listed}. {_PREEMPTION.format(nodes)}"


def _refuse(cluster: ClusterDouble, pod: Object, message: str) -> None:
    scheduled = condition("PodScheduled", False, "Unschedulable", message)
    before = pod["status"].get("conditions", [])
    if any((found["reason"], found["message"]) == ("Unschedulable", message) for found in before):
        return
    cluster.registry.event(pod, "FailedScheduling", message, source="default-scheduler")
    cluster.registry.set_status("Pod", pod, phase="Pending", conditions=with_conditions(before, [scheduled]))


def _place(cluster: ClusterDouble, pod: Object, node: str) -> None:
    metadata = pod["metadata"]
    scheduled = condition("PodScheduled", True)

    def revision(live: Object) -> Object:
        conditions = with_conditions(live["status"].get("conditions"), [scheduled])
        return {
            **live,
            "spec": {**live["spec"], "nodeName": node},
            "status": {**live["status"], "conditions": conditions},
        }

    placed = cluster.registry.revise("Pod", metadata["namespace"], metadata["name"], revision)
    if placed:
        cluster.loads.see(placed)
    message = f"Successfully assigned {metadata['namespace']}/{metadata['name']} to {node}"
    cluster.registry.event(pod, "Scheduled", message, type="Normal", source="default-scheduler")
