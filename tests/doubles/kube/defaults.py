"""The server's default values, and the checks that a schema cannot express."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.doubles.kube.failures import Failure, invalid
from tests.doubles.kube.quantities import quantity
from tests.doubles.kube.resources import Object, Resource

STORAGE_CLASS = "standard"
_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
_SHORT = {"Namespace", "Service"}  # their names are DNS labels
Causes = Iterator[tuple[str, str]]


def fill(obj: Object) -> Object:
    """The object with the API server's defaults. Filling twice changes nothing."""
    filler = _FILLERS.get(obj["kind"])
    return filler(obj) if filler else obj


def _namespace(obj: Object) -> Object:
    metadata = obj["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    status = obj.get("status") or {"phase": "Active"}
    return {**obj, "metadata": {**metadata, "labels": labels}, "spec": obj.get("spec") or {}, "status": status}


def _secret(obj: Object) -> Object:
    plain = obj.get("stringData") or {}
    encoded = {name: base64.b64encode(value.encode()).decode() for name, value in plain.items()}
    kept = {name: value for name, value in obj.items() if name != "stringData"}
    return {"type": "Opaque", **kept, "data": {**(obj.get("data") or {}), **encoded}}


def _service(obj: Object) -> Object:
    ports = [{"protocol": "TCP", "targetPort": port.get("port"), **port} for port in obj["spec"].get("ports") or []]
    spec = {"type": "ClusterIP", "sessionAffinity": "None", "clusterIP": "10.96.0.10", **obj["spec"], "ports": ports}
    return {**obj, "spec": spec, "status": obj.get("status") or {"loadBalancer": {}}}


def _deployment(obj: Object) -> Object:
    given = obj["spec"]
    spec = {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, **given}
    if not (given.get("strategy") or {}).get("type"):
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    template = {**given["template"], "spec": _pod_spec(given["template"].get("spec") or {})}
    return {**obj, "spec": {**spec, "template": template}, "status": obj.get("status") or {}}


def _pod(obj: Object) -> Object:
    status = obj.get("status") or {"phase": "Pending", "qosClass": "Burstable"}
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    given = obj["spec"].get("tolerations") or []
    spec = {**_pod_spec(obj["spec"]), "tolerations": given + [t for t in tolerations if t not in given]}
    return {**obj, "spec": spec, "status": status}


def _pod_spec(spec: Object) -> Object:
    filled = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        **spec,
    }
    for kind in ("initContainers", "containers"):
        if kind in spec:
            filled[kind] = [_container(container) for container in spec[kind]]
    return filled


def _container(container: Object) -> Object:
    filled = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", **container}
    image = str(container.get("image", ""))
    is_pinned = "@" in image or (":" in image.rpartition("/")[2] and not image.endswith(":latest"))
    filled.setdefault("imagePullPolicy", "IfNotPresent" if is_pinned else "Always")
    filled.setdefault("resources", {})
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if probe in container:
            filled[probe] = {
                "timeoutSeconds": 1,
                "periodSeconds": 10,
                "successThreshold": 1,
                "failureThreshold": 3,
                **container[probe],
            }
    if "ports" in container:
        filled["ports"] = [{"protocol": "TCP", **port} for port in container["ports"]]
    return filled


def _claim(obj: Object) -> Object:
    spec = {"volumeMode": "Filesystem", "storageClassName": STORAGE_CLASS, **obj["spec"]}
    return {**obj, "spec": spec, "status": obj.get("status") or {"phase": "Pending"}}


def _volume(obj: Object) -> Object:
    spec = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem", **obj["spec"]}
    return {**obj, "spec": spec, "status": obj.get("status") or {"phase": "Pending"}}


_FILLERS: dict[str, Callable[[Object], Object]] = {
    "Namespace": _namespace,
    "Secret": _secret,
    "Service": _service,
    "Deployment": _deployment,
    "ReplicaSet": lambda obj: {"status": {"replicas": 0}, **obj},
    "Pod": _pod,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "ResourceQuota": lambda obj: {"status": {}, **obj},
}
# Finalizers that the server adds when an object is created.
FINALIZERS = {
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
    "PersistentVolume": "kubernetes.io/pv-protection",
}


def check(resource: Resource, obj: Object, old: Object | None) -> None:
    """Raises 422 for errors that a schema cannot express."""
    causes = [*_metadata(resource, obj)]
    spec = obj.get("spec") or {}
    if resource.kind in {"Deployment", "ReplicaSet"}:
        causes += _workload(spec)
        causes += _pod_causes("spec.template.spec", spec["template"].get("spec") or {})
    if resource.kind == "Pod":
        causes += _pod_causes("spec", spec)
    if old:
        causes += _immutable(resource, obj, old)
    if causes:
        raise invalid(resource, obj["metadata"]["name"], causes)


def _metadata(resource: Resource, obj: Object) -> Causes:
    metadata = obj["metadata"]
    name, is_short = metadata["name"], resource.kind in _SHORT
    form, longest = (_LABEL, 63) if is_short else (_SUBDOMAIN, 253)
    if not form.match(name) or len(name) > longest:
        kind = "RFC 1123 label" if is_short else "RFC 1123 subdomain"
        yield "metadata.name", f'Invalid value: "{name}": a lowercase {kind} must consist of lower case characters'
    for key, value in (metadata.get("labels") or {}).items():
        if len(value) > 63 or not _VALUE.match(value):
            yield "metadata.labels", f'Invalid value: "{value}": a valid label must be 63 characters or less ({key})'
    if sum(len(str(part)) for part in (metadata.get("annotations") or {}).items()) > 262144:
        yield "metadata.annotations", "Too long: may not be more than 262144 bytes"


def _workload(spec: Object) -> Causes:
    wanted = spec["selector"].get("matchLabels") or {}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    if not wanted or not wanted.items() <= labels.items():
        yield "spec.template.metadata.labels", f"Invalid value: {labels}: `selector` does not match template `labels`"
    if (spec.get("strategy") or {}).get("type") == "Recreate" and spec["strategy"].get("rollingUpdate"):
        yield "spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` is 'Recreate'"


def _pod_causes(where: str, spec: Object) -> Causes:
    volumes = {volume["name"] for volume in spec.get("volumes") or []}
    seen: set[str] = set()
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or []):
            at = f"{where}.{kind}[{index}]"
            security = container.get("securityContext") or {}
            if security.get("privileged") and security.get("allowPrivilegeEscalation") is False:
                why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
                yield f"{at}.securityContext", f"Invalid value: {why}"
            if container["name"] in seen:
                yield f"{at}.name", f'Duplicate value: "{container["name"]}"'
            seen.add(container["name"])
            yield from _mounts(at, container, volumes)
            yield from _resources(at, container.get("resources") or {})
    if not spec.get("containers"):
        yield f"{where}.containers", "Required value"


def _mounts(at: str, container: Object, volumes: set[str]) -> Causes:
    if not container.get("image"):
        yield f"{at}.image", "Required value"
    paths: set[str] = set()
    for number, mount in enumerate(container.get("volumeMounts") or []):
        if mount["name"] not in volumes:
            yield f"{at}.volumeMounts[{number}].name", f'Not found: "{mount["name"]}"'
        if mount["mountPath"] in paths:
            yield f"{at}.volumeMounts[{number}].mountPath", f'Invalid value: "{mount["mountPath"]}": must be unique'
        paths.add(mount["mountPath"])


def _resources(at: str, resources: Object) -> Causes:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, value in [*limits.items(), *requests.items()]:
        try:
            quantity(value)
        except ValueError as error:
            yield f"{at}.resources.{name}", f'Invalid value: "{value}": {error}'
            return
    for name, value in requests.items():
        if name in limits and quantity(value) > quantity(limits[name]):
            limit = limits[name]
            yield (
                f"{at}.resources.requests",
                f'Invalid value: "{value}": must be less than or equal to {name} limit of {limit}',
            )


def _immutable(resource: Resource, obj: Object, old: Object) -> Causes:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    if resource.kind in {"Deployment", "ReplicaSet"} and spec["selector"] != before["selector"]:
        yield "spec.selector", f"Invalid value: {spec['selector']}: field is immutable"
    if resource.kind == "PersistentVolumeClaim" and _fixed(spec) != _fixed(before) and before.get("volumeName"):
        yield "spec", "Forbidden: spec is immutable after creation except resources.requests for bound claims"
    if resource.kind == "Secret" and old.get("immutable") and obj.get("data") != old.get("data"):
        yield "data", "Forbidden: field is immutable when `immutable` is set"
    if resource.kind == "Secret" and obj.get("type") != old.get("type"):
        yield "type", f'Invalid value: "{obj.get("type")}": field is immutable'
    if resource.kind == "PersistentVolume" and _source(spec) != _source(before):
        yield "spec.persistentvolumesource", "Forbidden: spec.persistentvolumesource is immutable after creation"
    if resource.kind == "Pod" and _frozen(spec) != _frozen(before):
        yield "spec", "Forbidden: pod updates may not change fields other than `spec.containers[*].image`"


def _fixed(spec: Object) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != "resources"}


def _source(spec: Object) -> dict[str, Any]:
    return {name: spec[name] for name in ("csi", "hostPath", "local", "nfs") if name in spec}


def _frozen(spec: Object) -> dict[str, Any]:
    free = {"containers", "initContainers", "activeDeadlineSeconds", "tolerations", "nodeName"}
    return {name: value for name, value in spec.items() if name not in free}


def matches_body(resource: Resource, obj: Object, *, namespace: str, name: str) -> None:
    """Raises 400 if body and path name different objects."""
    if (obj.get("apiVersion"), obj.get("kind")) != (resource.api_version, resource.kind):
        raise Failure(400, f"the object provided is unrecognized or of another kind than {resource.kind}")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise Failure(400, "metadata is required")
    if metadata.get("namespace", namespace) != namespace:
        raise Failure(400, "the namespace of the provided object does not match the namespace sent on the request")
    if name and metadata.get("name", name) != name:
        message = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise Failure(400, message)
