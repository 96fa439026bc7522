"""The runtime `kubernetes`. A worker may be killed anywhere in it: each call looks at what there is and goes on.

It changes clusters; what is seen of them the observer writes down, and every process reads that (agents/clusters/).
"""

from __future__ import annotations

import logging
import time
from typing import Any

from agents.clusters import connections, placement, pods, usage
from agents.clusters.models import Cluster, Pod
from agents.runtimes import management
from agents.runtimes.base import Endpoint, Observation, PodSpec, RuntimeFailure, Usage
from agents.runtimes.kubernetes import ending, manifests, names, network, volumes
from agents.runtimes.kubernetes.client import Connection, path_of
from agents.runtimes.kubernetes.place import Place

log = logging.getLogger(__name__)

Json = dict[str, Any]

# How long a removal waits for the namespace to be gone: not long, for one that is stuck must not hold up other agents.
# The observer sees it go and wakes the reconciler, whose next try finds nothing left.
GONE_SECONDS = 2.0


class KubernetesRuntime:
    """Pods on the clusters of the table `Cluster`."""

    def __init__(self, *, gone_seconds: float = GONE_SECONDS) -> None:
        self._gone_seconds = gone_seconds

    def deploy(self, spec: PodSpec) -> None:
        cluster = placement.place(spec.agent_id)
        place = connections.place(cluster)
        wanted = manifests.deployment(spec, place)
        known = pods.make(
            spec.namespace, agent_id=spec.agent_id, cluster=cluster, public_url=_public_url(spec, cluster)
        )
        connection = connections.of(cluster)
        found = connection.find(path_of(wanted))
        if found is None or not _runs_as(found, wanted) or known.cause == "CONFIG":
            self._apply(connection, spec, place, wanted)

    def configure(self, spec: PodSpec) -> None:
        """The pod first: what it refuses must not become what its next start reads."""
        pod, address = pods.find(spec.namespace), self.endpoint(spec.namespace)
        if pod is None or address is None:
            raise RuntimeFailure("the pod has no address", cause="NO_ADDRESS")
        management.configure(address, spec.secrets.management_token, config=spec.config, secrets=spec.secrets)
        connection, place = connections.of(pod.cluster), connections.place(pod.cluster)
        for manifest in [*manifests.secrets(spec, place), *network.domain_objects(spec, place)]:
            connection.apply(manifest)
        self._keep_volume(connection, pod)

    def stop(self, namespace: str) -> None:
        pod = pods.find(namespace)
        if pod is None:
            return
        connection = connections.of(pod.cluster)
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{names.POD}"
        found = connection.find(path)
        if found is None or not ending.is_of(found, connections.place(pod.cluster).installation):
            return
        if found["spec"]["replicas"]:
            self._keep_volume(connection, pod)
            connection.merge(path, {"spec": {"replicas": 0}})

    def delete(self, namespace: str, *, agent_id: str, data: bool) -> None:
        pod = pods.find(namespace)
        cluster = pod.cluster if pod else placement.cluster_of(agent_id)
        if cluster is None:
            return
        connection = connections.of(cluster)
        labels = names.labels(installation=connections.place(cluster).installation, agent_id=agent_id)
        ending.end_namespace(connection, namespace, labels=labels, data=data)
        ending.wait_until_gone(connection, namespace, until=time.monotonic() + self._gone_seconds)
        if data:
            for volume in volumes.left_behind(connection, labels=labels):
                volumes.release(connection, volume)
            placement.forget(agent_id)
        pods.forget(namespace)

    def observe(self, suffix: str | None = None) -> dict[str, Observation]:
        return pods.observed(suffix)

    def usage(self) -> dict[str, Usage]:
        """Of running pods as their nodes say, of stopped ones the disk as it was."""
        found: dict[str, Usage] = {}
        for cluster in Cluster.objects.all():
            try:
                found |= usage.measure(cluster)
            except RuntimeFailure as failure:
                log.warning("a cluster is not measured", extra={"cluster": cluster.name, "error": str(failure)})
        stopped = {name: Usage(memory_bytes=0, disk_bytes=disk) for name, disk in pods.stopped_disks().items()}
        unknown = Usage(memory_bytes=None, disk_bytes=None)
        return {name: stopped.get(name) or found.get(name, unknown) for name in {*stopped, *found}}

    def endpoint(self, namespace: str) -> Endpoint | None:
        return pods.endpoint(namespace)

    # Starting.

    def _apply(self, connection: Connection, spec: PodSpec, place: Place, wanted: Json) -> None:
        """Everything, the workload last: who sees its hash knows that the rest is there."""
        ending.refuse_foreign(connection, spec.namespace, installation=place.installation)
        connection.apply(manifests.namespace(spec, place))
        for manifest in manifests.before_workload(spec, place):
            connection.apply(manifest)
        self._claim(connection, spec, place)
        for manifest in [*network.routes(spec, place), *network.domain_objects(spec, place)]:
            connection.apply(manifest)
        connection.apply(wanted)

    def _claim(self, connection: Connection, spec: PodSpec, place: Place) -> None:
        """The namespace's claim: there already, on the volume that an earlier pod has left, or on a new one."""
        wanted = manifests.claim(spec, place)
        found = connection.find(path_of(wanted))
        if found:
            volumes.grow_to(connection, found, wanted_bytes=spec.limits.disk_bytes)
            return
        labels = names.labels(installation=place.installation, agent_id=spec.agent_id)
        for volume in volumes.left_behind(connection, labels=labels)[:1]:
            volumes.reserve(connection, volume, namespace=spec.namespace)
            wanted = manifests.claim_of(volume, spec, place)
        connection.apply(wanted)

    def _keep_volume(self, connection: Connection, pod: Pod) -> None:
        """As soon as there is one: whatever becomes of the namespace, the agent's files stay."""
        labels = names.labels(installation=connections.place(pod.cluster).installation, agent_id=pod.agent_id)
        if volume := volumes.bound(connection, pod.namespace):
            volumes.keep(connection, volume, labels=labels)


def _runs_as(found: Json, wanted: Json) -> bool:
    """Whether the workload that is there is the wanted one, and wanted to run."""
    metadata = found["metadata"]
    known = (metadata.get("annotations") or {}).get(names.HASH_ANNOTATION)
    same = known == wanted["metadata"]["annotations"][names.HASH_ANNOTATION]
    return bool(same and found["spec"].get("replicas") and "deletionTimestamp" not in metadata)


def _public_url(spec: PodSpec, cluster: Cluster) -> str | None:
    """What people are told; None where nothing routes hostnames to pods."""
    return spec.public_url if cluster.routing != "none" else None
