"""What builders must know of the cluster and of this installation, beside the pod's own specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Routing(StrEnum):
    """How visitors reach pods."""

    GATEWAY = "gateway"  # Gateway API: an HTTPRoute on a shared listener
    INGRESS = "ingress"
    NONE = "none"  # at the pod's own address, for who can route to it


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """The cluster's way in, and from where it comes."""

    routing: Routing = Routing.NONE
    gateway: str = ""  # `namespace/name`, and `/listener` where only one of its listeners is ours
    ingress_class: str = ""
    router_namespace: str = ""  # whose pods may reach public ports
    router_ports: tuple[int, ...] = ()  # on which these take visitors, agents among them
    control_namespace: str = ""  # whose pods may reach management ports
    control_cidrs: tuple[str, ...] = ()  # the same for a control plane outside the cluster
    certificate_issuer: str = ""  # the ClusterIssuer of customers' own hostnames


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    installation: str
    pod_image: str
    engine_images: Mapping[str, str]
    egress_cidrs: tuple[str, ...] = ()  # what pods may reach beside the public internet
    own_cidrs: tuple[str, ...] = ()  # the cluster's own networks: what pods may not reach though it is public
    backup_port: int = 0  # of the endpoint that backups are written through; 0: there are none
    routes: Routes = field(default_factory=Routes)
    storage_class: str = ""
    runtime_class: str = ""
    tier_runtime_classes: Mapping[str, str] = field(default_factory=dict)  # where a plan has another one
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class: str = ""
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    dns_peers: tuple[Mapping[str, Any], ...] = ()  # whom pods ask for names; none: Kubernetes' usual pods
    dns_port: int = 53
    pull_policy: str = "IfNotPresent"
    pull_secret: str | None = field(default=None, repr=False)  # a Docker configuration, as JSON
