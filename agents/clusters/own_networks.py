"""Which addresses of a cluster its pods can reach: public addresses that nobody named as the cluster's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from django.conf import settings

from agents.clusters.api.client import ApiRefused, Connection
from agents.clusters.api.place import ClusterSettings
from config import public_networks
from config.public_networks import Network

Json = dict[str, Any]

SHOWN = 10  # addresses of each kind in a sentence

_SETTING = "OWN_NETWORKS (of the chart: networkPolicy.ownNetworks)"
_NODES = "/api/v1/nodes"
_SERVICE = "/api/v1/namespaces/default/services/kubernetes"
_API_SERVERS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


def reachable(connection: Connection, place: ClusterSettings, *, is_here: bool) -> Iterator[str]:
    """A sentence for each kind of address that pods can reach. Addresses that we may not read are left out.

    `is_here`: our own programs are pods of this cluster too.
    """
    own = [ip_network(cidr) for cidr in place.own_cidrs]
    given = [ip_network(cidr) for cidr in place.egress_cidrs]
    for kind, networks in _of_cluster(connection).items():
        if public := [one for one in networks if public_networks.is_open(one, without=own)]:
            yield f"Pods can reach {kind}: {_shown(public)}. Add the networks they are in to its own networks."
        if is_here and (
            ours := [one for one in networks if public_networks.is_open(one, without=settings.OWN_NETWORKS)]
        ):
            yield f"Agentpods itself can reach {kind}: {_shown(ours)}. Add the networks they are in to {_SETTING}."
        if opened := [one for one in networks if any(_overlap(one, other) for other in given)]:
            yield f"POD_EGRESS_CIDRS lets pods reach {kind}: {_shown(opened)}. Give smaller networks."


def _of_cluster(connection: Connection) -> dict[str, list[Network]]:
    nodes = (_find(connection, _NODES) or {}).get("items") or ()
    service = (_find(connection, _SERVICE) or {}).get("spec") or {}
    servers = (_find(connection, _API_SERVERS) or {}).get("endpoints") or ()
    addresses = (one.get("address") for node in nodes for one in node.get("status", {}).get("addresses") or ())
    return {
        "its nodes": _networks(addresses),
        "its pods' networks": _networks(cidr for node in nodes for cidr in node.get("spec", {}).get("podCIDRs") or ()),
        "its services": _networks(service.get("clusterIPs") or ()),
        "its API server": _networks(address for one in servers for address in one.get("addresses") or ()),
    }


def _find(connection: Connection, path: str) -> Json | None:
    try:
        return connection.find(path)
    except ApiRefused as refusal:
        if refusal.status == 403:
            return None  # the missing right is reported already
        raise


def _networks(texts: Iterable[object]) -> list[Network]:
    """The networks in this order, each once. Host names are skipped."""
    found: dict[Network, None] = {}
    for text in texts:
        with suppress(ValueError):
            found[ip_network(str(text))] = None
    return list(found)


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def _shown(networks: list[Network]) -> str:
    """The networks as text; a single address without its prefix length."""
    texts = [str(one.network_address if one.num_addresses == 1 else one) for one in networks]
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more
