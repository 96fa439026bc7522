"""From a cluster's row to its connection, and to the values that builders of objects need."""

from __future__ import annotations

import hashlib
import threading

from django.conf import settings

from agents.cause import Cause
from agents.clusters.api.client import Connection
from agents.clusters.api.place import ClusterSettings, Routes, Routing
from agents.clusters.models import Cluster
from agents.runtimes.base import RuntimeFailure
from config.crypto import UnreadableSecret

_known: dict[int, tuple[str, Connection]] = {}
_lock = threading.Lock()


def of(cluster: Cluster) -> Connection:
    """The connection of this process; a new one when the operator has changed the credentials.

    Raises RuntimeFailure when the kubeconfig cannot be decrypted.
    """
    try:
        kubeconfig = cluster.kubeconfig
    except UnreadableSecret as lost:
        raise RuntimeFailure(f"cluster {cluster.name}: {lost.message}", cause=Cause.SECRET_LOST) from lost
    fingerprint = hashlib.sha256(f"{cluster.name}\n{kubeconfig}".encode()).hexdigest()
    with _lock:
        known = _known.get(cluster.pk)
        if known and known[0] == fingerprint:
            return known[1]
        fresh = Connection(cluster.name, kubeconfig, calls=settings.KUBERNETES_MAX_CALLS)
        _known[cluster.pk] = (fingerprint, fresh)
    if known:
        known[1].close()
    return fresh


def is_here(cluster: Cluster) -> bool:
    """Whether this is the cluster that this service runs in. There our own pods' account is used."""
    try:
        return not cluster.kubeconfig
    except UnreadableSecret:
        return False


def place(cluster: Cluster) -> ClusterSettings:
    """The values of the cluster and of this installation, for builders of objects."""
    return ClusterSettings(
        installation=settings.INSTALLATION,
        pod_image=settings.POD_IMAGE,
        engine_images=settings.ENGINE_IMAGES,
        egress_cidrs=tuple(str(network) for network in settings.POD_EGRESS_CIDRS),
        own_cidrs=(*cluster.own_cidrs, *(map(str, settings.OWN_NETWORKS) if is_here(cluster) else ())),
        backup_port=settings.BACKUP_PORT if settings.BACKUP_STORE else 0,
        routes=Routes(
            routing=Routing(cluster.routing),
            gateway=cluster.gateway,
            ingress_class=cluster.ingress_class,
            router_namespace=cluster.router_namespace,
            router_ports=tuple(cluster.router_ports),
            control_namespace=cluster.control_namespace,
            control_cidrs=tuple(cluster.control_cidrs),
            certificate_issuer=cluster.certificate_issuer,
        ),
        storage_class=cluster.storage_class,
        runtime_class=cluster.runtime_class,
        tier_runtime_classes=cluster.tier_runtime_classes,
        node_selector=cluster.node_selector,
        tolerations=tuple(cluster.tolerations),
        priority_class=cluster.priority_class,
        pod_annotations=cluster.pod_annotations,
        dns_peers=tuple(cluster.dns_peers),
        dns_port=cluster.dns_port,
        pull_policy=cluster.pull_policy,
        pull_secret=cluster.pull_secret or None,
    )
