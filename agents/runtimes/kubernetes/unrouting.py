"""Removes the route from a customer's hostname to a pod. At the same time another pod may get the hostname."""

from __future__ import annotations

from typing import Any

from agents.clusters.api import digests, names
from agents.clusters.api.client import path_of
from agents.clusters.api.place import ClusterSettings, Routing
from agents.clusters.api.rights import Inside

Json = dict[str, Any]

_CERTIFICATE = ("cert-manager.io/v1", "Certificate")
# The objects of network.domain_objects. The route comes first, so that no visitor is led here without a certificate.
_KINDS = {
    Routing.GATEWAY: (
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("gateway.networking.k8s.io/v1", "ListenerSet"),
        _CERTIFICATE,
    ),
    Routing.INGRESS: (("networking.k8s.io/v1", "Ingress"), _CERTIFICATE),
}


def unroute(inside: Inside, place: ClusterSettings, domain: str) -> list[str]:
    """Remove the objects for this hostname, and return their keys. If the agent has another own hostname by now, its
    objects are left alone.
    """
    if not place.routes.certificate_issuer:
        return []
    gone = []
    for version, kind in _KINDS.get(place.routes.routing, ()):
        metadata = {"name": names.DOMAIN, "namespace": inside.namespace}
        path = path_of({"apiVersion": version, "kind": kind, "metadata": metadata})
        found = inside.find(path)
        if found is not None and domain in _hosts(kind, found.get("spec") or {}):
            inside.delete(path)
            gone.append(digests.key({"kind": kind, "metadata": metadata}))
    return gone


def _hosts(kind: str, spec: Json) -> list[str]:
    match kind:
        case "HTTPRoute":
            return spec.get("hostnames") or []
        case "ListenerSet":
            return [one.get("hostname", "") for one in spec.get("listeners") or []]
        case "Certificate":
            return spec.get("dnsNames") or []
        case _:
            return [rule.get("host", "") for rule in spec.get("rules") or []]
