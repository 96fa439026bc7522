"""The facts about the cluster and this installation that builders need in addition to the pod's specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Routing(StrEnum):
    """How visitors reach pods."""

    GATEWAY = "gateway"  # Gateway API: an HTTPRoute on a shared listener
    INGRESS = "ingress"
    NONE = "none"  # at the pod's own address, for callers that can route to it


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """How visitors come into the cluster."""

    routing: Routing = Routing.NONE
    gateway: str = ""  # `namespace/name`, with `/listener` if only one of its listeners is ours
    ingress_class: str = ""
    router_namespace: str = ""  # namespace of the pods that may reach public ports
    router_ports: tuple[int, ...] = ()  # ports on which these pods accept visitors, including agents
    control_namespace: str = ""  # namespace of the pods that may reach management ports
    control_cidrs: tuple[str, ...] = ()  # the same for a control plane outside of the cluster
    certificate_issuer: str = ""  # the ClusterIssuer for customers' own hostnames


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    installation: str
    pod_image: str
    engine_images: Mapping[str, str]
    egress_cidrs: tuple[str, ...] = ()  # networks that pods may reach in addition to the public internet
    own_cidrs: tuple[str, ...] = ()  # the cluster's own networks, which pods must not reach even if they are public
    backup_port: int = 0  # port of the endpoint for backups; 0: there are no backups
    routes: Routes = field(default_factory=Routes)
    storage_class: str = ""
    runtime_class: str = ""
    tier_runtime_classes: Mapping[str, str] = field(default_factory=dict)  # for plans with a different runtime class
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class: str = ""
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    dns_peers: tuple[Mapping[str, Any], ...] = ()  # pods that answer name lookups; empty: Kubernetes' usual ones
    dns_port: int = 53
    pull_policy: str = "IfNotPresent"
    pull_secret: str | None = field(default=None, repr=False)  # a Docker configuration as JSON
