"""Builds the rules for who may reach a pod and whom it may reach, and the routes of its hostnames. The functions are
pure.
"""

from __future__ import annotations

from ipaddress import ip_network
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from agents.clusters.api import names
from agents.clusters.api.parts import metadata
from agents.clusters.api.place import ClusterSettings, Routes, Routing
from agents.runtimes.base import PodSpec
from config import public_networks

_Json = dict[str, Any]

_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_ENDPOINT = {"app.kubernetes.io/name": "agentpods", "app.kubernetes.io/component": "backups"}
_USUAL_DNS = {"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}


def policy(namespace: str, agent_id: str, place: ClusterSettings, *, is_limited: bool = False) -> _Json:
    """Forbid all connections except: visitors to the public port, the control plane to the management port, and from
    the pod to name servers and the internet.

    `is_limited`: the engine may reach hosts of a list alone. Engine and gateway are one pod, so a policy cannot tell
    them apart by their address. But the engine's wall leaves it WALLED_PORTS only, and the policy lets nothing out
    there. What is not TCP stays inside too, but for questions to name servers.
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": names.POD,
            "namespace": namespace,
            "labels": names.labels(installation=place.installation, agent_id=agent_id),
        },
        "spec": {
            "podSelector": {},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": _ingress(place.routes),
            "egress": _without_ports(_egress(place)) if is_limited else _egress(place),
        },
    }


def _ingress(routes: Routes) -> list[_Json]:
    control = [_namespace(routes.control_namespace)] if routes.control_namespace else []
    control += [{"ipBlock": {"cidr": cidr}} for cidr in routes.control_cidrs]
    visitors = [_namespace(routes.router_namespace)] if routes.router_namespace else []
    rules = []
    if visitors or control:
        # The control plane also probes the public address.
        rules.append({"from": [*visitors, *control], "ports": [_port(names.PUBLIC_PORT)]})
    if control:
        rules.append({"from": control, "ports": [_port(names.MANAGEMENT_PORT)]})
    return rules


def _egress(place: ClusterSettings) -> list[_Json]:
    names_of_hosts = {
        "to": [dict(peer) for peer in place.dns_peers] or [_USUAL_DNS],
        "ports": [{"protocol": protocol, "port": place.dns_port} for protocol in ("UDP", "TCP")],
    }
    # No private networks, no metadata services, and no address of this cluster, even if it is public.
    own = [ip_network(cidr) for cidr in place.own_cidrs]
    internet = [
        {"ipBlock": {"cidr": cidr, "except": holes}} for cidr, holes in public_networks.internet(without=own).items()
    ]
    given = [{"ipBlock": {"cidr": cidr}} for cidr in place.egress_cidrs]
    return [names_of_hosts, {"to": [*internet, *given]}, *_own_front_door(place.routes), *_backups(place)]


def _without_ports(rules: list[_Json]) -> list[_Json]:
    """The same rules without WALLED_PORTS, and for TCP only where they named no ports."""
    limited = [
        {**rule, "ports": [one for one in rule.get("ports", _other_ports()) if one["port"] not in names.WALLED_PORTS]}
        for rule in rules
    ]
    return [rule for rule in limited if rule["ports"]]  # a rule without ports would be one for all ports


def _other_ports() -> list[_Json]:
    """All TCP ports but WALLED_PORTS, as ranges."""
    ends = [0, *sorted(names.WALLED_PORTS), 65536]
    spans = [(low + 1, high - 1) for low, high in pairwise(ends) if low + 1 < high]
    return [{"protocol": "TCP", "port": first, "endPort": last} for first, last in spans]


def _backups(place: ClusterSettings) -> list[_Json]:
    """The endpoint for backups, if it runs in this cluster: its pods, and only its port."""
    if not place.backup_port or not place.routes.control_namespace:
        return []
    endpoint = {**_namespace(place.routes.control_namespace), "podSelector": {"matchLabels": _ENDPOINT}}
    return [{"to": [endpoint], "ports": [_port(place.backup_port)]}]


def _own_front_door(routes: Routes) -> list[_Json]:
    """The pods that forward visitors, on their ports for visitors: so a pod can reach the hostnames of other agents and
    of the console.
    Many clusters replace their public address by a private address of these pods before they check the policy.
    """
    if not routes.router_namespace or not routes.router_ports:
        return []
    return [{"to": [_namespace(routes.router_namespace)], "ports": [_port(port) for port in routes.router_ports]}]


def routes(spec: PodSpec, place: ClusterSettings) -> list[_Json]:
    """The objects that lead the agent's hostname to its pod; none if pods are reached directly."""
    host = urlsplit(spec.public_url or "").hostname
    if not host or place.routes.routing == Routing.NONE:
        return []
    if place.routes.routing == Routing.GATEWAY:
        return [_http_route(spec, place, names.POD, host, parent=_parent(place.routes))]
    return [_ingress_object(spec, place, names.POD, host, secret=None)]


def domain_objects(spec: PodSpec, place: ClusterSettings) -> list[_Json]:
    """The same for the customer's own hostname, with its own certificate, after its DNS check has passed.
    Empty without a certificate issuer, because then nothing would issue the certificate.
    """
    if not spec.domain or not place.routes.certificate_issuer or place.routes.routing == Routing.NONE:
        return []
    certificate = _certificate(spec, place)
    if place.routes.routing == Routing.INGRESS:
        return [certificate, _ingress_object(spec, place, names.DOMAIN, spec.domain, secret=names.DOMAIN)]
    listener = {"kind": "ListenerSet", "group": "gateway.networking.k8s.io", "name": names.DOMAIN}
    return [
        certificate,
        _listener_set(spec, place),
        _http_route(spec, place, names.DOMAIN, spec.domain, parent=listener),
    ]


def _http_route(spec: PodSpec, place: ClusterSettings, name: str, host: str, *, parent: _Json) -> _Json:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": metadata(spec, place, name),
        "spec": {
            "parentRefs": [parent],
            "hostnames": [host],
            "rules": [{"backendRefs": [{"name": names.POD, "port": names.PUBLIC_PORT}]}],
        },
    }


def _parent(routes: Routes) -> _Json:
    """The reference for `namespace/name` or `namespace/name/listener`."""
    namespace, name, *listener = routes.gateway.split("/")
    return {
        "namespace": namespace,
        "name": name,
        **({"sectionName": listener[0]} if listener else {}),
    }


def _listener_set(spec: PodSpec, place: ClusterSettings) -> _Json:
    """A listener of the shared Gateway for one hostname. It is a separate object, because a Gateway itself has room for
    only 64 listeners.
    """
    namespace, name, *_ = place.routes.gateway.split("/")
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "ListenerSet",
        "metadata": metadata(spec, place, names.DOMAIN),
        "spec": {
            "parentRef": {
                "group": "gateway.networking.k8s.io",
                "kind": "Gateway",
                "name": name,
                "namespace": namespace,
            },
            "listeners": [
                {
                    "name": names.DOMAIN,
                    "hostname": spec.domain,
                    "port": 443,
                    "protocol": "HTTPS",
                    "tls": {"mode": "Terminate", "certificateRefs": [{"name": names.DOMAIN}]},
                    "allowedRoutes": {"namespaces": {"from": "Same"}},
                }
            ],
        },
    }


def _certificate(spec: PodSpec, place: ClusterSettings) -> _Json:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": metadata(spec, place, names.DOMAIN),
        "spec": {
            "secretName": names.DOMAIN,
            "dnsNames": [spec.domain],
            "issuerRef": {"kind": "ClusterIssuer", "name": place.routes.certificate_issuer},
        },
    }


def _ingress_object(spec: PodSpec, place: ClusterSettings, name: str, host: str, *, secret: str | None) -> _Json:
    """An Ingress. The agent's hostname uses the controller's default certificate, a wildcard; a customer's hostname has
    its own certificate.
    """
    backend = {"service": {"name": names.POD, "port": {"number": names.PUBLIC_PORT}}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(spec, place, name),
        "spec": {
            **({"ingressClassName": place.routes.ingress_class} if place.routes.ingress_class else {}),
            **({"tls": [{"hosts": [host], "secretName": secret}]} if secret else {"tls": [{"hosts": [host]}]}),
            "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        },
    }


def _namespace(name: str) -> _Json:
    return {"namespaceSelector": {"matchLabels": {_NAMESPACE_NAME: name}}}


def _port(number: int) -> _Json:
    return {"protocol": "TCP", "port": number}
