"""The API server's version, health, groups and resources."""

from __future__ import annotations

import kubernetes_validate

from tests.doubles.kube.resources import RESOURCES, Object, Resource

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
HEALTH = {"/readyz", "/livez", "/healthz"}


def document(path: str) -> Object | None:
    parts = path.strip("/").split("/")
    if path == "/version":
        return _version()
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in _groups()]}
    if parts[0] == "api" and parts[1:] == ["v1"]:
        return _resources("")
    if parts[0] == "apis" and len(parts) == 2 and parts[1] in _groups():
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[1])}
    if parts[0] == "apis" and parts[2:] == ["v1"] and parts[1] in _groups():
        return _resources(parts[1])
    return None


def _version() -> Object:
    major, minor, _ = kubernetes_validate.latest_version().split(".")
    return {"major": major, "minor": minor, "gitVersion": f"v{major}.{minor}.0", "platform": "linux/amd64"}


def _groups() -> list[str]:
    return sorted({resource.group for resource in RESOURCES if resource.group})


def _group(group: str) -> Object:
    version = {"groupVersion": f"{group}/v1", "version": "v1"}
    return {"name": group, "versions": [version], "preferredVersion": version}


def _resources(group: str) -> Object:
    found = [_resource(resource) for resource in RESOURCES if resource.group == group]
    if group == "apps":
        found.append(
            {**found[0], "name": "deployments/scale", "group": "autoscaling", "kind": "Scale", "verbs": ["get"]}
        )
    version = f"{group}/v1" if group else "v1"
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found}


def _resource(resource: Resource) -> Object:
    singular = resource.kind.lower()
    named = {"name": resource.plural, "singularName": singular, "namespaced": resource.namespaced}
    return {**named, "kind": resource.kind, "verbs": _VERBS}
