"""Renews the network policies of existing pods. A pod gets its policy when it is deployed, which may be long ago."""

from __future__ import annotations

from typing import Any

from agents.clusters.api import digests, names, network
from agents.clusters.api.client import ApiRefused, Connection, path_of
from agents.clusters.api.place import ClusterSettings
from agents.clusters.api.rights import Inside
from agents.clusters.models import POLICY, Cluster, Pod
from agents.clusters.pods import keep_some, note_astray, note_policy
from agents.egress.models import Egress
from config import waiting

_NOT_THERE = {403, 404, 409}  # the namespace is ending, or not made yet: a new one gets today's policy


def renew(cluster: Cluster, connection: Connection, place: ClusterSettings) -> list[str]:
    """Give every pod of the cluster today's policy. Returns a sentence if some were refused. Raises ClusterFailure."""
    pods = list(Pod.objects.filter(cluster=cluster).order_by("pk").values_list("namespace", "agent_id"))
    limited = set(Egress.objects.filter(is_limited=True).values_list("agent_id", flat=True))
    waiting.release_connection()
    refused = [
        why
        for namespace, agent_id in pods
        if (why := _renew(connection, namespace, agent_id, place, is_limited=agent_id in limited))
    ]
    return [f"{len(refused)} of {len(pods)} pods kept their old network policies: {refused[0]}"] if refused else []


def _renew(connection: Connection, namespace: str, agent_id: str, place: ClusterSettings, *, is_limited: bool) -> str:
    """Renew the policy of one pod. Returns why it was refused, or ""."""
    try:
        labels = names.labels(installation=place.installation, agent_id=agent_id)
        inside = Inside(connection, namespace, labels=labels)
        wanted = network.policy(namespace, agent_id, place, is_limited=is_limited)
        _note_drift(namespace, inside.find(path_of(wanted)))
        applied = digests.of(inside.apply(wanted))
        keep_some(namespace, applied)
        note_policy(namespace, applied, is_limited=is_limited)
    except ApiRefused as refusal:
        return "" if refusal.status in _NOT_THERE else str(refusal)
    return ""


def _note_drift(namespace: str, found: dict[str, Any] | None) -> None:
    """Note that somebody removed or weakened the old policy: the new policy would hide that."""
    noted = Pod.objects.filter(pk=namespace, kept__has_key=POLICY).values_list("kept", flat=True).first()
    if noted is None or (found and digests.digest(found) == noted[POLICY]):
        return
    note_astray(namespace, f"{POLICY} was {'changed' if found else 'gone'}")
