"""Nodes: they start the pods that were placed on them, report their state, and end them."""

from __future__ import annotations

import shutil
import threading
import time

from tests.doubles.kube import container, simulated, world
from tests.doubles.kube.cluster import NODES, ClusterDouble
from tests.doubles.kube.failures import Failure
from tests.doubles.kube.objects import condition, is_going, with_conditions
from tests.doubles.kube.pods import PodRun
from tests.doubles.kube.resources import BY_KIND, Object
from tests.doubles.kube.trouble import CRASH, EVICTED, EVICTED_SILENTLY, MOUNT, OOM, SLOW

_UNREACHABLE = "node.kubernetes.io/unreachable"
_LOW = "The node was low on resource: ephemeral-storage. Threshold quantity: 10%, available: 9%."
_ENDED = {"Succeeded", "Failed"}
END_SECONDS = 10.0


def new(name: str, *, port: int, labels: dict[str, str], cpu: str, memory: str, pods: int) -> Object:
    able = {"cpu": cpu, "memory": memory, "ephemeral-storage": "1Ti", "pods": str(pods)}
    ready = condition("Ready", True, "KubeletReady", "kubelet is posting ready status")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **labels}},
        "spec": {},
        "status": {
            "capacity": able,
            "allocatable": able,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    }


def sync(cluster: ClusterDouble, namespace: str) -> None:
    """Make the pods in this namespace match the API server's objects."""
    runs = cluster.pods.get(namespace, {})
    known = set()
    for pod in cluster.store.all("Pod", namespace):
        uid, where = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        known.add(uid)
        if not where or where in cluster.lost:
            continue
        if is_going(pod):
            _end(cluster, pod, runs.get(uid))
        elif pod["status"].get("phase") not in _ENDED:
            _tend(cluster, pod)
    for uid in set(runs) - known:
        _forget(cluster, runs[uid], seconds=0)


def _tend(cluster: ClusterDouble, pod: Object) -> None:
    namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
    with cluster.store.changed:
        run = cluster.pods.setdefault(namespace, {}).setdefault(uid, PodRun(cluster, pod))
    if not run.is_begun and not _begin(run):
        return
    if cluster.settings.run:
        container.refresh(run)
    else:
        simulated.refresh(run)
    _strike(run)


def _begin(run: PodRun) -> bool:
    """Mount the pod's volumes and start it. Returns whether all volumes could be mounted."""
    why = world.missing(run)
    if run.cluster.troubles.has(run.namespace, MOUNT):
        volume = next(iter(run.pod["spec"].get("volumes") or []), {"name": "data"})["name"]
        error = "rpc error: code = Internal desc = mount failed: exit status 32"
        why = f'MountVolume.SetUp failed for volume "{volume}" : {error}'
    if run.cluster.troubles.has(run.namespace, SLOW):
        run.publish()
        return False
    if why:
        run.event("FailedMount", why)
        run.publish()
        run.cluster.later(run.namespace, 1.0)
        return False
    run.begin()
    return True


def _strike(run: PodRun) -> None:
    """Apply the test's one-time faults to a running pod."""
    told = run.cluster.troubles.scripts.get(run.namespace, set())
    is_running = not run.main.waiting and not run.main.ended
    if OOM in told and is_running:
        told.discard(OOM)
        _end_container(run, run.main.name, 137, "OOMKilled")
    if CRASH in told and run.cluster.settings.run and is_running:
        container.kill(run, run.main.name, "Error")
    for what in told & {EVICTED, EVICTED_SILENTLY}:
        told.discard(what)
        run.event("Evicted", _LOW)
        container.stop(run, seconds=END_SECONDS)
        if what == EVICTED:
            run.finish(phase="Failed", reason="Evicted", message=_LOW)
        else:
            run.finish(phase="Succeeded")


def kill(cluster: ClusterDouble, namespace: str, name: str, *, oom: bool) -> None:
    for run in list(cluster.pods.get(namespace, {}).values()):
        if not run.is_over:
            _end_container(run, name, 137, "OOMKilled" if oom else "Error")


def _end_container(run: PodRun, name: str, code: int, reason: str) -> None:
    if run.cluster.settings.run:
        container.kill(run, name, reason)
    else:
        simulated.restart(run, run.states[name], code, reason)


def _end(cluster: ClusterDouble, pod: Object, run: PodRun | None) -> None:
    """Stop the pod's processes within their grace period, and then delete the object."""
    metadata = pod["metadata"]
    if run is None or not run.containers:
        _confirm(cluster, pod, run)
        return
    if run.stopper is None:
        seconds = float(metadata.get("deletionGracePeriodSeconds", 30))
        run.stopper = threading.Thread(target=_stop, args=(cluster, pod, run, seconds), name="kube-stop", daemon=True)
        run.stopper.start()


def _stop(cluster: ClusterDouble, pod: Object, run: PodRun, seconds: float) -> None:
    container.stop(run, seconds=seconds)
    if not cluster.stopping.is_set():
        _confirm(cluster, pod, run)


def _confirm(cluster: ClusterDouble, pod: Object, run: PodRun | None) -> None:
    """Confirm the end of the pod: its object is deleted, unless somebody's finalizer keeps it."""
    metadata = pod["metadata"]
    if run:
        run.finish(phase="Succeeded")
        _forget(cluster, run, seconds=0)
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
    try:
        cluster.registry.delete(BY_KIND["Pod"], metadata["namespace"], metadata["name"], options)
    except Failure as failure:
        if failure.code not in {404, 409}:
            raise


def _forget(cluster: ClusterDouble, run: PodRun, *, seconds: float) -> None:
    run.is_over = True
    container.stop(run, seconds=seconds)
    with cluster.store.changed:
        runs = cluster.pods.get(run.namespace, {})
        runs.pop(run.uid, None)
        if not runs:
            cluster.pods.pop(run.namespace, None)
    shutil.rmtree(run.directory, ignore_errors=True)


def end_all(cluster: ClusterDouble) -> None:
    """Stop all pods at the same time, so that the total time is that of the slowest pod."""
    runs = [run for runs in list(cluster.pods.values()) for run in list(runs.values())]
    for run in runs:
        run.is_over = True
        container.ask_to_stop(run, seconds=END_SECONDS)
    for run in runs:
        _forget(cluster, run, seconds=END_SECONDS)
        if run.stopper:
            run.stopper.join(END_SECONDS)


def lose(cluster: ClusterDouble, name: str) -> None:
    seconds = cluster.settings.eviction_seconds
    cluster.lost[name] = time.monotonic() + seconds
    unknown = condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    taints = [{"key": _UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    _set(cluster, name, unknown, taints)
    for run in [run for runs in list(cluster.pods.values()) for run in list(runs.values())]:
        if run.pod["spec"]["nodeName"] == name:
            _lose_pod(cluster, run)
    cluster.later(NODES, seconds)


def _lose_pod(cluster: ClusterDouble, run: PodRun) -> None:
    live = cluster.store.get("Pod", run.namespace, run.name)
    _forget(cluster, run, seconds=0)
    if live:
        conditions = with_conditions(live["status"].get("conditions"), [condition("Ready", False)])
        cluster.registry.set_status("Pod", live, conditions=conditions)
        run.event("NodeNotReady", "Node is not ready")


def find(cluster: ClusterDouble, name: str) -> None:
    cluster.lost.pop(name, None)
    _set(cluster, name, condition("Ready", True, "KubeletReady", "kubelet is posting ready status"), [])
    for namespace in {pod["metadata"]["namespace"] for pod in cluster.store.all("Pod")}:
        cluster.touch(namespace)


def _set(cluster: ClusterDouble, name: str, ready: Object, taints: list[Object]) -> None:
    def revision(live: Object) -> Object:
        conditions = with_conditions(live["status"]["conditions"], [ready])
        return {
            **live,
            "spec": {**live["spec"], "taints": taints},
            "status": {**live["status"], "conditions": conditions},
        }

    cluster.registry.revise("Node", "", name, revision)


def evict(cluster: ClusterDouble) -> None:
    """Delete the pods of nodes that were lost for long (with their grace period) and of deleted nodes (at once)."""
    nodes = {node["metadata"]["name"] for node in cluster.store.all("Node")}
    for pod in cluster.store.all("Pod"):
        metadata, where = pod["metadata"], pod["spec"].get("nodeName")
        is_late = where in cluster.lost and time.monotonic() >= cluster.lost[where] and not is_going(pod)
        if where and where not in nodes:
            options = {"gracePeriodSeconds": 0}
            cluster.registry.delete(BY_KIND["Pod"], metadata["namespace"], metadata["name"], options)
        elif is_late:
            cluster.registry.delete(BY_KIND["Pod"], metadata["namespace"], metadata["name"])
