"""The runtime `kubernetes`. A worker may be killed at any point here; so each call looks at what exists and continues
from there.
This module changes clusters. The observer writes their state to the database, and all processes read it there
(agents/clusters/).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from agents.cause import Cause
from agents.clusters import breaches, connections, placement, pods, usage
from agents.clusters.api import digests, ending, names, network, volumes
from agents.clusters.api.client import ApiRefused, Connection, path_of
from agents.clusters.api.place import ClusterSettings
from agents.clusters.api.rights import Inside
from agents.clusters.models import Cluster, Pod
from agents.pod.logs.reading import Left
from agents.runtimes import management
from agents.runtimes.base import Endpoint, Observation, PodSpec, RuntimeFailure, Usage
from agents.runtimes.kubernetes import manifests, unrouting
from agents.runtimes.kubernetes.repair import Repair
from config import waiting

log = logging.getLogger(__name__)

Json = dict[str, Any]

# How long a removal waits until the namespace is gone (seconds). The time is short, so that a stuck namespace does not
# delay other agents. The observer sees the namespace go and wakes the reconciler, whose next try finds nothing left.
GONE_SECONDS = 2.0


class KubernetesRuntime:
    """Pods on the clusters of the table `Cluster`."""

    REPORTS_CHANGES = True  # agents/clusters/observer.py does

    def __init__(self, *, gone_seconds: float = GONE_SECONDS) -> None:
        self._gone_seconds = gone_seconds

    def deploy(self, spec: PodSpec) -> None:
        cluster = placement.place(spec.agent_id)
        place = connections.place(cluster)
        wanted = manifests.deployment(spec, place)
        routed = spec.public_url if cluster.routing != "none" else None
        known = pods.make(spec.namespace, agent_id=spec.agent_id, cluster=cluster, public_url=routed)
        if pods.stands(known, _hash(wanted)):
            return
        inside = _inside(known)
        home = manifests.namespace(spec, place)
        if known.kept is None and (made := _begun(inside.connection, home)):
            self._apply(inside, spec, place, wanted, home=made)
            return
        is_there = ending.find_ours(inside.connection, spec.namespace, installation=place.installation)
        found = inside.find(path_of(wanted)) if is_there else None
        if found and known.cause == Cause.NODE_LOST and _is_to_run(found):
            return  # its pod may still run and answer on the lost node, so a new one must wait
        if found is None or not _runs_as(found, wanted) or known.cause == Cause.CONFIG:
            self._apply_again(inside, spec, place, wanted, known=known)
        else:
            pods.found_whole(spec.namespace, _hash(wanted))

    def configure(self, spec: PodSpec) -> None:
        """Configure the pod first: a configuration that the pod refuses must not be what its next start reads."""
        pod, address = pods.find(spec.namespace), self.endpoint(spec.namespace)
        if pod is None or address is None:
            raise RuntimeFailure("the pod has no address", cause=Cause.NO_ADDRESS)
        management.configure(address, spec.access, config=spec.config, secrets=spec.secrets)
        inside, place = _inside(pod), connections.place(pod.cluster)
        for secret in manifests.secrets(spec, place):
            inside.apply(secret)
        renewed = [manifests.policy(spec, place)] if spec.egress_limited is not None else []
        visits = [inside.apply(manifest) for manifest in (*network.domain_objects(spec, place), *renewed)]
        pods.keep_some(pod.namespace, digests.of(*visits))
        _note_policy(spec, digests.of(*visits))
        self._keep_volume(inside, pod)

    def repair(self, spec: PodSpec) -> list[str]:
        pod = pods.find(spec.namespace)
        if pod is None:
            return []
        inside, place = _inside(pod), connections.place(pod.cluster)
        repair = Repair(inside, kept=pods.noted(pod), seen=pods.seen(pod), note=_noting(pod))
        repair.put_back(spec, place)
        repair.keep_claim(partial(self._claim, inside, spec, place))
        repair.keep_volume(_labels(pod.agent_id, pod.cluster))
        pods.keep(pod.namespace, repair.digests)
        _note_policy(spec, repair.digests)
        return _astray(pod, repair)

    def told(self, namespace: str, put_back: list[str]) -> None:
        pods.forget_notes(namespace, put_back)

    def secure(self, namespace: str) -> None:
        """Keep the volume. Most pods do this at their first start, so the volume is changed without
        reading it first.
        """
        pod = pods.find(namespace)
        if pod is None:
            return
        inside = _inside(pod)
        claim = volumes.claim_of(inside)
        if claim and (name := claim["spec"].get("volumeName")):
            volume = volumes.keep_named(inside.connection, name, labels=_labels(pod.agent_id, pod.cluster))
            pods.keep_some(namespace, digests.of(volume), is_seen=True)
            now = pods.find(namespace)
            if now and digests.CLAIM in pods.seen(now):
                pods.keep_some(namespace, {digests.CLAIM: digests.digest(claim)})

    def expect_data(self, spec: PodSpec) -> None:
        """Change only the start document: the cluster starts pods by itself, and each start reads the
        document again.
        """
        pod = pods.find(spec.namespace)
        if pod is None:
            raise RuntimeFailure("the pod is not known any more", cause=Cause.POD_LOST)
        _inside(pod).apply(manifests.engine_secret(spec, connections.place(pod.cluster)))

    def unroute(self, namespace: str, domain: str) -> None:
        pod = pods.find(namespace)
        if pod is None:
            return
        inside = _inside(pod)
        pods.let_go(namespace, unrouting.unroute(inside, connections.place(pod.cluster), domain))

    def stop(self, namespace: str) -> None:
        pod = pods.find(namespace)
        if pod is None:
            return
        inside = _inside(pod)
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{names.POD}"
        found = inside.find(path)
        if found is None or not ending.is_of(found, connections.place(pod.cluster).installation):
            return
        if found["spec"]["replicas"]:
            self._keep_volume(inside, pod)
            pods.found_whole(namespace, None)
            inside.merge(path, {"spec": {"replicas": 0}})

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        pod = pods.find(namespace)
        cluster = pod.cluster if pod else placement.cluster_of(agent_id)
        if cluster is None:
            return
        connection = connections.of(cluster)
        labels = _labels(agent_id, cluster)
        pods.found_whole(namespace, None)
        ending.end_namespace(connection, namespace, labels=labels, data=data)
        ending.wait_until_gone(connection, namespace, until=time.monotonic() + self._gone_seconds)
        if data:
            for one in {cluster, *placement.everywhere(agent_id)}:
                volumes.release_left(connections.of(one), labels=_labels(agent_id, one))
            placement.forget(agent_id)
        pods.forget(namespace)

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        return pods.observed(suffix)

    def usage(self) -> dict[str, Usage]:
        """Running pods: as measured by their nodes. Stopped pods: no memory, and the disk as measured last."""
        found: dict[str, Usage] = {}
        for cluster in Cluster.objects.all():
            try:
                found |= usage.measure(cluster)
            except RuntimeFailure as failure:
                log.warning("a cluster could not be measured", extra={"cluster": cluster.name, "error": str(failure)})
        stopped = {name: Usage(memory_bytes=0, disk_bytes=disk) for name, disk in pods.stopped_disks().items()}
        unknown = Usage(memory_bytes=None, disk_bytes=None)
        return {name: stopped.get(name) or found.get(name, unknown) for name in {*stopped, *found}}

    def endpoint(self, namespace: str) -> Endpoint | None:
        return pods.endpoint(namespace)

    def left_log(self, namespace: str) -> Left | None:
        """None: a pod's files disappear together with the pod, so only its gateway can show the log."""
        return None

    def fleeting_logs(self, limit: int) -> list[str]:
        return pods.logs_to_keep(limit)

    # Starting a pod.

    def _apply(self, inside: Inside, spec: PodSpec, place: ClusterSettings, wanted: Json, *, home: Json) -> None:
        """Create everything in the new namespace. The workload comes last, so its hash shows that all the rest exists.
        The first object shows that our rights are in force; the others are then created at the same time.
        """
        first, *rest = manifests.before_workload(spec, place)
        rest += [*network.routes(spec, place), *network.domain_objects(spec, place)]
        applied = [home, *inside.bind(), inside.apply(first)]
        claim = partial(self._claim, inside, spec, place, None)
        applied += inside.connection.at_once([claim, *(partial(inside.apply, manifest) for manifest in rest)])
        applied.append(inside.apply(manifests.limits(spec, place, secrets=digests.secrets(digests.of(*applied)))))
        applied.append(inside.apply(wanted))
        pods.keep(spec.namespace, digests.of(*applied))
        _note_policy(spec, digests.of(*applied))
        pods.found_whole(spec.namespace, _hash(wanted))

    def _apply_again(self, inside: Inside, spec: PodSpec, place: ClusterSettings, wanted: Json, *, known: Pod) -> None:
        """Like `_apply`, where some or all objects exist. Objects that somebody has changed are put back, and the
        changes are not taken over.
        """
        noted = pods.noted(known)
        repair = Repair(inside, kept=noted, seen=noted, note=_noting(known))
        repair.put_back(spec, place)
        repair.keep_claim(partial(self._claim, inside, spec, place))
        repair.keep_volume(_labels(spec.agent_id, known.cluster))
        pods.keep(spec.namespace, {**repair.digests, **digests.of(inside.apply(wanted))})
        _note_policy(spec, repair.digests)
        pods.found_whole(spec.namespace, _hash(wanted))
        _astray(known, repair)

    def _claim(self, inside: Inside, spec: PodSpec, place: ClusterSettings, found: Json | None) -> Json:
        """The namespace's claim for a volume: the existing one, or a new one, on the volume that an earlier pod has
        left or on a new volume.
        """
        connection, wanted = inside.connection, manifests.claim(spec, place)
        if found:
            volumes.grow_to(inside, found, wanted_bytes=spec.limits.disk_bytes)
            return found
        labels = names.labels(installation=place.installation, agent_id=spec.agent_id)
        if volume := volumes.free(connection, labels=labels):
            volumes.reserve(connection, volume, namespace=spec.namespace)
            wanted = manifests.claim_of(volume, spec, place)
        return inside.apply(wanted)

    def _keep_volume(self, inside: Inside, pod: Pod) -> None:
        """Keep the volume as soon as it exists, so that the agent's files stay, whatever happens to the namespace."""
        if volume := volumes.bound(inside):
            volumes.keep(inside.connection, volume, labels=_labels(pod.agent_id, pod.cluster))


def _note_policy(spec: PodSpec, applied: digests.Digests) -> None:
    pods.note_policy(spec.namespace, applied, is_limited=bool(spec.egress_limited))


def _noting(pod: Pod) -> Callable[[str], None]:
    """A function that notes a change by others in the pod's row. It may be called from any thread, and gives the
    thread's database connection back.
    """

    def note(words: str) -> None:
        pods.note_astray(pod.namespace, words)
        waiting.release_connection()

    return note


def _astray(pod: Pod, repair: Repair) -> list[str]:
    """All found changes of this pod that are not on the timeline yet. Changes of protective objects are noted as an
    incident too.
    """
    pods.forget_notes(pod.namespace, repair.unfounded)
    words = pods.astray(pod.namespace)
    if breach := [one for one in words if digests.is_security(one)]:
        breaches.note(pod, breach)
    return words


def _begun(connection: Connection, namespace: Json) -> Json | None:
    """Create the namespace. Returns None if a namespace with this name exists, also if it is not ours."""
    try:
        return connection.post("/api/v1/namespaces", namespace)
    except ApiRefused as refusal:
        if refusal.status == 409:
            return None
        raise


def _inside(pod: Pod) -> Inside:
    """Access to the pod's namespace. If we had rights in it before and lost them, getting them back is noted like any
    other change.
    """
    had_rights = f"RoleBinding/{names.RIGHTS}" in (pod.kept or {})
    labels = _labels(pod.agent_id, pod.cluster)
    told = {"regains": _noting(pod)} if had_rights else {}
    return Inside(connections.of(pod.cluster), pod.namespace, labels=labels, **told)


def _labels(agent_id: str, cluster: Cluster) -> dict[str, str]:
    return names.labels(installation=connections.place(cluster).installation, agent_id=agent_id)


def _runs_as(found: Json, wanted: Json) -> bool:
    """Whether the existing workload is the wanted one and is meant to run."""
    known = (found["metadata"].get("annotations") or {}).get(names.HASH_ANNOTATION)
    return known == _hash(wanted) and _is_to_run(found)


def _is_to_run(found: Json) -> bool:
    return bool(found["spec"].get("replicas") and "deletionTimestamp" not in found["metadata"])


def _hash(wanted: Json) -> str:
    return str(wanted["metadata"]["annotations"][names.HASH_ANNOTATION])
