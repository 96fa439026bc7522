"""Admission: nothing new in a namespace that is being deleted, beyond a quota, or against the pod security level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from tests.doubles.kube.failures import forbidden, not_found
from tests.doubles.kube.quantities import quantity, text
from tests.doubles.kube.resources import BY_KIND, Object, Resource
from tests.doubles.kube.store import Store

_LEVEL = "pod-security.kubernetes.io/enforce"
DEFAULT_INGRESS_CLASS = "usual"
_COUNTED = {"Pod", "Service", "Secret", "PersistentVolumeClaim"}  # also counted under their plain names
_SAFE_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
Usage = dict[str, Fraction]


def admit(store: Store, resource: Resource, obj: Object) -> Object:
    """The object with the defaults of limit ranges. Raises the server's refusal."""
    if not resource.namespaced:
        return obj
    namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
    space = store.get("Namespace", "", namespace)
    if space is None:
        raise not_found(BY_KIND["Namespace"], namespace)
    if space["metadata"].get("deletionTimestamp") and resource.kind != "Event":
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(resource, name, why, cause=cause)
    if resource.kind == "Pod":
        obj = _limited(store, obj)
        _check_security(space, resource, obj)
    if resource.kind == "Ingress":  # a new Ingress gets the cluster's default class; a later change does not
        obj = {**obj, "spec": {"ingressClassName": DEFAULT_INGRESS_CLASS, **obj["spec"]}}
    _check_quota(store, resource, obj)
    return obj


def _limited(store: Store, pod: Object) -> Object:
    """The pod with the namespace's default limits in containers without limits."""
    limits = [
        limit
        for found in store.all("LimitRange", pod["metadata"]["namespace"])
        for limit in found["spec"].get("limits", [])
        if limit["type"] == "Container"
    ]
    for limit in limits:
        spec = dict(pod["spec"])
        for kind in ("initContainers", "containers"):
            if kind in spec:
                spec[kind] = [_with_limits(container, limit) for container in spec[kind]]
        pod = {**pod, "spec": spec}
    return pod


def _with_limits(container: Object, limit: Object) -> Object:
    given = container.get("resources") or {}
    limits = {**(limit.get("default") or {}), **(given.get("limits") or {})}
    requests = {**limits, **(limit.get("defaultRequest") or {}), **(given.get("requests") or {})}
    return {**container, "resources": {**given, "limits": limits, "requests": requests}}


def usage(store: Store, namespace: str) -> Usage:
    """How much the namespace's objects use of each resource that a quota may limit."""
    used: Usage = defaultdict(Fraction)
    for kind in ("Pod", "Service", "Secret", "PersistentVolumeClaim", "Deployment", "ReplicaSet", "Ingress"):
        for obj in store.all(kind, namespace):
            for key, value in _usage_of(BY_KIND[kind], obj).items():
                used[key] += value
    return used


def _usage_of(resource: Resource, obj: Object) -> Usage:
    if obj.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return defaultdict(Fraction)
    used: Usage = defaultdict(Fraction, {f"count/{resource.qualified}": Fraction(1)})
    if resource.kind in _COUNTED:
        used[resource.plural] = Fraction(1)
    if resource.kind == "PersistentVolumeClaim":
        requests = (obj["spec"].get("resources") or {}).get("requests") or {}
        used["requests.storage"] = quantity(requests.get("storage", 0))
    if resource.kind == "Pod":
        used.update(_pod_usage(obj))
    return used


def _pod_usage(pod: Object) -> Usage:
    used: Usage = defaultdict(Fraction)
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        for kind in ("limits", "requests"):
            for name, value in (resources.get(kind) or {}).items():
                used[f"{kind}.{name}"] += quantity(value)
                if kind == "requests":
                    used[name] += quantity(value)
    return used


def _check_quota(store: Store, resource: Resource, obj: Object) -> None:
    name, namespace = obj["metadata"]["name"], obj["metadata"]["namespace"]
    quotas = store.all("ResourceQuota", namespace)
    if not quotas:
        return
    wanted, used = _usage_of(resource, obj), usage(store, namespace)
    for quota in quotas:
        hard = quota["spec"].get("hard") or {}
        quota_name = quota["metadata"]["name"]
        if resource.kind == "Pod" and (missing := list(_missing(obj, hard))):
            raise forbidden(resource, name, f"failed quota: {quota_name}: must specify {'; '.join(missing)}")
        over = sorted(key for key in hard if wanted[key] and used[key] + wanted[key] > quantity(hard[key]))
        if over:
            parts = [
                f"requested: {_listed(over, wanted, hard)}",
                f"used: {_listed(over, used, hard)}",
                f"limited: {','.join(f'{key}={hard[key]}' for key in over)}",
            ]
            raise forbidden(resource, name, f"exceeded quota: {quota_name}, {', '.join(parts)}")


def _listed(keys: list[str], values: Usage, hard: Object) -> str:
    return ",".join(f"{key}={text(values[key], hard[key])}" for key in keys)


def _missing(pod: Object, hard: Object) -> Iterator[str]:
    for key in sorted(hard):
        kind, _, name = key.partition(".")
        if kind not in {"limits", "requests"} or name == "storage":
            continue
        without = [
            c["name"] for c in pod["spec"]["containers"] if name not in ((c.get("resources") or {}).get(kind) or {})
        ]
        if without:
            yield f"{key} for: {','.join(without)}"


def quota_status(store: Store, quota: Object) -> Object:
    hard = quota["spec"].get("hard") or {}
    used = usage(store, quota["metadata"]["namespace"])
    return {"hard": hard, "used": {key: text(used[key], hard[key]) for key in hard}}


def _check_security(space: Object, resource: Resource, pod: Object) -> None:
    level = (space["metadata"].get("labels") or {}).get(_LEVEL, "privileged")
    if level == "privileged":
        return
    found = list(_baseline(pod["spec"]))
    if level == "restricted":
        found += _restricted(pod["spec"])
    if found:
        why = f'violates PodSecurity "{level}:latest": {", ".join(found)}'
        raise forbidden(resource, pod["metadata"]["name"], why)


def _containers(spec: Object) -> list[Object]:
    return [*(spec.get("initContainers") or []), *spec["containers"]]


def _baseline(spec: Object) -> Iterator[str]:
    if hosts := [name for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]:
        yield f"host namespaces ({', '.join(f'{name}=true' for name in hosts)})"
    for volume in spec.get("volumes") or []:
        if "hostPath" in volume:
            yield f'hostPath volumes (volume "{volume["name"]}")'
    if found := [c["name"] for c in _containers(spec) if (c.get("securityContext") or {}).get("privileged")]:
        yield f"privileged ({_named(found)} must not set securityContext.privileged=true)"


def _restricted(spec: Object) -> Iterator[str]:
    pod = spec.get("securityContext") or {}
    own = {container["name"]: container.get("securityContext") or {} for container in _containers(spec)}
    if found := [name for name, context in own.items() if context.get("allowPrivilegeEscalation") is not False]:
        must = f"{_named(found)} must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({must})"
    if found := [name for name, c in own.items() if "ALL" not in ((c.get("capabilities") or {}).get("drop") or [])]:
        yield f'unrestricted capabilities ({_named(found)} must set securityContext.capabilities.drop=["ALL"])'
    for volume in spec.get("volumes") or []:
        if kinds := [kind for kind in volume if kind != "name" and kind not in _SAFE_VOLUMES]:
            yield f'restricted volume types (volume "{volume["name"]}" uses restricted volume type "{kinds[0]}")'
    if found := [name for name, c in own.items() if c.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True]:
        yield f"runAsNonRoot != true (pod or {_named(found)} must set securityContext.runAsNonRoot=true)"
    if found := [name for name, context in own.items() if context.get("runAsUser", pod.get("runAsUser")) == 0]:
        yield f"runAsUser=0 ({_named(found)} must not set runAsUser=0)"
    if found := [name for name, context in own.items() if _seccomp(context) is None and _seccomp(pod) is None]:
        types = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_named(found)} must set {types})"


def _seccomp(context: Object) -> str | None:
    kind = (context.get("seccompProfile") or {}).get("type")
    return kind if kind in {"RuntimeDefault", "Localhost"} else None


def _named(containers: list[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in containers)
    return f"container{'s' if len(containers) > 1 else ''} {listed}"
