"""The kinds of objects in the cluster, and the kind that a path names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    group: str
    kind: str
    plural: str
    namespaced: bool = True
    version: str = "v1"
    custom: bool = False  # kind of a CustomResourceDefinition: Kubernetes publishes no schema for it

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The kind's name in error messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


RESOURCES = (
    Resource("", "Namespace", "namespaces", namespaced=False),
    Resource("", "Node", "nodes", namespaced=False),
    Resource("", "PersistentVolume", "persistentvolumes", namespaced=False),
    Resource("storage.k8s.io", "StorageClass", "storageclasses", namespaced=False),
    Resource("", "Pod", "pods"),
    Resource("", "Secret", "secrets"),
    Resource("", "Service", "services"),
    Resource("", "PersistentVolumeClaim", "persistentvolumeclaims"),
    Resource("", "ResourceQuota", "resourcequotas"),
    Resource("", "LimitRange", "limitranges"),
    Resource("", "Event", "events"),
    Resource("apps", "Deployment", "deployments"),
    Resource("apps", "ReplicaSet", "replicasets"),
    Resource("rbac.authorization.k8s.io", "RoleBinding", "rolebindings"),
    Resource("networking.k8s.io", "NetworkPolicy", "networkpolicies"),
    Resource("networking.k8s.io", "Ingress", "ingresses"),
    Resource("gateway.networking.k8s.io", "HTTPRoute", "httproutes", custom=True),
    Resource("gateway.networking.k8s.io", "ListenerSet", "listenersets", custom=True),
    Resource("cert-manager.io", "Certificate", "certificates", custom=True),
)
BY_KIND = {resource.kind: resource for resource in RESOURCES}
BY_PATH = {(resource.group, resource.version, resource.plural): resource for resource in RESOURCES}
NAMESPACED = tuple(resource.kind for resource in RESOURCES if resource.namespaced)


@dataclass(frozen=True, slots=True)
class ResourceTarget:
    """The target of a path: a collection when `name` is empty."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""  # the path after `proxy`


def target(path: str) -> ResourceTarget | None:
    """The target of this path; None if it is not a path of a resource."""
    parts = path.strip("/").split("/")
    group, version, parts = _group(parts)
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and (group, version, parts[2]) in BY_PATH:
        namespace, parts = parts[1], parts[2:]
    resource = BY_PATH.get((group, version, parts[0])) if parts else None
    if resource is None:
        return None
    name, subresource, *rest = [*parts[1:], "", ""]
    return ResourceTarget(resource, namespace, name, subresource, "/".join(rest).rstrip("/"))


def _group(parts: list[str]) -> tuple[str, str, list[str]]:
    if parts[0] == "api" and len(parts) > 1:
        return "", parts[1], parts[2:]
    if parts[0] == "apis" and len(parts) > 2:
        return parts[1], parts[2], parts[3:]
    return "", "", []
