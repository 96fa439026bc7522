"""Claims and volumes: binding, provisioning on first use, protection, and released volumes."""

from __future__ import annotations

import shutil
import uuid

from tests.doubles.kube.cluster import ClusterDouble
from tests.doubles.kube.defaults import STORAGE_CLASS
from tests.doubles.kube.objects import is_going
from tests.doubles.kube.resources import BY_KIND, Object
from tests.doubles.kube.times import now
from tests.doubles.kube.trouble import VOLUME

_CLAIM_KEPT = "kubernetes.io/pvc-protection"
_VOLUME_KEPT = "kubernetes.io/pv-protection"
_SELECTED = "volume.kubernetes.io/selected-node"
_PROVISIONER = "example.com/directories"


def claims_of(pod: Object) -> list[str]:
    volumes = pod["spec"].get("volumes") or []
    return [found["persistentVolumeClaim"]["claimName"] for found in volumes if "persistentVolumeClaim" in found]


def reconcile(cluster: ClusterDouble, namespace: str) -> None:
    for claim in cluster.store.all("PersistentVolumeClaim", namespace):
        if is_going(claim):
            _let_go(cluster, claim)
        elif claim["spec"].get("volumeName") and claim["status"]["phase"] == "Pending":
            _bind_named(cluster, claim)


def _let_go(cluster: ClusterDouble, claim: Object) -> None:
    """Let a deleted claim disappear, unless a pod uses it."""
    metadata = claim["metadata"]
    pods = cluster.store.all("Pod", metadata["namespace"])
    if any(metadata["name"] in claims_of(pod) and pod["spec"].get("nodeName") for pod in pods):
        return
    _drop_finalizer(cluster, claim, _CLAIM_KEPT)


def _drop_finalizer(cluster: ClusterDouble, obj: Object, finalizer: str) -> None:
    def revision(live: Object) -> Object:
        rest = [name for name in live["metadata"].get("finalizers", []) if name != finalizer]
        return {**live, "metadata": {**live["metadata"], "finalizers": rest}}

    metadata = obj["metadata"]
    cluster.registry.revise(obj["kind"], metadata.get("namespace", ""), metadata["name"], revision)


def _bind_named(cluster: ClusterDouble, claim: Object) -> None:
    """Bind the claim to the volume that it names, unless that volume belongs to another claim."""
    name = claim["spec"]["volumeName"]
    volume = cluster.store.get("PersistentVolume", "", name)
    if volume is None:
        return
    reference = volume["spec"].get("claimRef")
    if reference and not _is_for(reference, claim):
        message = f'volume "{name}" already bound to a different claim.'
        cluster.registry.event(claim, "FailedBinding", message, source="persistentvolume-controller")
        return
    _bind(cluster, claim, volume)


def _is_for(reference: Object, claim: Object) -> bool:
    metadata = claim["metadata"]
    is_same = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
    return is_same and reference.get("uid") in (None, "", metadata["uid"])


def _reference(claim: Object) -> Object:
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def _bind(cluster: ClusterDouble, claim: Object, volume: Object) -> None:
    name, metadata = volume["metadata"]["name"], claim["metadata"]
    reference = _reference(claim)

    def take(live: Object) -> Object:
        return {**live, "spec": {**live["spec"], "claimRef": reference}, "status": {"phase": "Bound"}}

    def bind(live: Object) -> Object:
        annotations = {**live["metadata"].get("annotations", {}), "pv.kubernetes.io/bind-completed": "yes"}
        status = {
            "phase": "Bound",
            "accessModes": volume["spec"]["accessModes"],
            "capacity": volume["spec"]["capacity"],
        }
        return {
            **live,
            "metadata": {**live["metadata"], "annotations": annotations},
            "spec": {**live["spec"], "volumeName": name},
            "status": status,
        }

    cluster.registry.revise("PersistentVolume", "", name, take)
    cluster.registry.revise("PersistentVolumeClaim", metadata["namespace"], metadata["name"], bind)


def provision(cluster: ClusterDouble, namespace: str) -> None:
    """Create volumes for the claims whose first pod has a node."""
    for claim in cluster.store.all("PersistentVolumeClaim", namespace):
        selected = claim["metadata"].get("annotations", {}).get(_SELECTED)
        if not selected or claim["spec"].get("volumeName") or is_going(claim):
            continue
        if cluster.troubles.has(namespace, VOLUME):
            why = "rpc error: code = ResourceExhausted desc = no space left in the storage pool"
            message = f'failed to provision volume with StorageClass "{STORAGE_CLASS}": {why}'
            cluster.registry.event(claim, "ProvisioningFailed", message, source=_PROVISIONER)
            continue
        _bind(cluster, claim, _provisioned(cluster, claim))


def select_node(cluster: ClusterDouble, claim: Object, node: str) -> None:
    def revision(live: Object) -> Object:
        annotations = {**live["metadata"].get("annotations", {}), _SELECTED: node}
        return {**live, "metadata": {**live["metadata"], "annotations": annotations}}

    metadata = claim["metadata"]
    cluster.registry.revise("PersistentVolumeClaim", metadata["namespace"], metadata["name"], revision)


def _provisioned(cluster: ClusterDouble, claim: Object) -> Object:
    name = f"pvc-{claim['metadata']['uid']}"
    cluster.volume_directory(name).mkdir(parents=True)
    spec = claim["spec"]
    volume: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": now(),
            "annotations": {"pv.kubernetes.io/provisioned-by": _PROVISIONER},
            "finalizers": [_VOLUME_KEPT],
        },
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec.get("storageClassName") or STORAGE_CLASS,
            "volumeMode": "Filesystem",
            "csi": {"driver": _PROVISIONER, "volumeHandle": name},
            "claimRef": _reference(claim),
        },
        "status": {"phase": "Pending"},
    }
    return cluster.store.put("PersistentVolume", volume)


def reclaim(cluster: ClusterDouble, name: str) -> None:
    """Update the volume's phase after a claim came or went."""
    volume = cluster.store.get("PersistentVolume", "", name)
    if volume is None:
        return
    phase = _phase(cluster, volume)
    cluster.registry.set_status("PersistentVolume", volume, phase=phase)
    if phase == "Released" and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
        _remove(cluster, volume)
    elif is_going(volume) and phase != "Bound":
        _drop_finalizer(cluster, volume, _VOLUME_KEPT)


def _phase(cluster: ClusterDouble, volume: Object) -> str:
    reference = volume["spec"].get("claimRef")
    if not reference:
        return "Available"
    claim = cluster.store.get("PersistentVolumeClaim", reference.get("namespace", ""), reference["name"])
    if claim and _is_for(reference, claim) and claim["spec"].get("volumeName") == volume["metadata"]["name"]:
        return "Bound" if reference.get("uid") else "Available"
    return "Released" if reference.get("uid") else "Available"


def _remove(cluster: ClusterDouble, volume: Object) -> None:
    """Delete the stored files first, and then the object."""
    name = volume["metadata"]["name"]
    shutil.rmtree(cluster.volume_directory(name), ignore_errors=True)
    if not is_going(volume):
        cluster.registry.delete(BY_KIND["PersistentVolume"], "", name)
    _drop_finalizer(cluster, volume, _VOLUME_KEPT)
