"""The pod itself: engine with bridge, gateway, and the step that brings the bridge (design: Security)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from agents.runtimes.base import PodSpec, RuntimeFailure
from agents.runtimes.kubernetes import names
from agents.runtimes.kubernetes.names import MIB
from agents.runtimes.kubernetes.place import Place

ENGINE_USER = 10001
GATEWAY_USER = 10002
VOLUME_GROUP = 10000

GATEWAY_CPU = Decimal("0.5")
GATEWAY_BYTES = 256 * MIB
TEMPORARY_BYTES = 512 * MIB
# The share of its CPU that a pod is promised: agents wait for models most of the time.
PROMISED_CPU = Decimal("0.2")
# The bridge gives its engine 15 s to end.
GRACE_SECONDS = 20
# How long an engine may take before it first answers, before the bridge itself is thought dead.
START_SECONDS = 60

_Json = dict[str, Any]


def pod(spec: PodSpec, place: Place) -> _Json:
    """The pod's specification. Raises RuntimeFailure for an engine without an image."""
    pull = {"imagePullSecrets": [{"name": names.PULL_SECRET}]} if place.pull_secret else {}
    runtime = {"runtimeClassName": place.runtime_class} if place.runtime_class else {}
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": VOLUME_GROUP,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [_bring_bridge(spec, place)],
        "containers": [_engine(spec, place), _gateway(spec, place)],
        "volumes": _volumes(),
        **({"nodeSelector": dict(place.node_selector)} if place.node_selector else {}),
        **({"tolerations": [dict(one) for one in place.tolerations]} if place.tolerations else {}),
        **({"priorityClassName": place.priority_class} if place.priority_class else {}),
        **runtime,
        **pull,
    }


def image_of(engine: str, place: Place) -> str:
    """Raises RuntimeFailure, permanently, when the operator has named none."""
    image = place.engine_images.get(engine)
    if not image:
        raise RuntimeFailure(f"ENGINE_IMAGES names no image for {engine}", cause="ENGINE", permanent=True)
    return image


def _bring_bridge(spec: PodSpec, place: Place) -> _Json:
    """It ends before the others start, so it may take what both of them may: each start waits for it."""
    return {
        "name": names.BRIDGE,
        "image": place.pod_image,
        "imagePullPolicy": place.pull_policy,
        "command": ["python", "-m", "agents.pod.copy_bridge", names.BRIDGE_DIRECTORY],
        "securityContext": _security(ENGINE_USER),
        "resources": _resources(
            memory_bytes=GATEWAY_BYTES, cpu=spec.limits.cpu + GATEWAY_CPU, temporary_bytes=64 * MIB
        ),
        "volumeMounts": [{"name": "bridge", "mountPath": names.BRIDGE_DIRECTORY}],
    }


def _engine(spec: PodSpec, place: Place) -> _Json:
    memory = spec.limits.memory_bytes + names.BRIDGE_BYTES
    return {
        "name": names.ENGINE,
        "image": image_of(spec.engine, place),
        "imagePullPolicy": place.pull_policy,
        "command": [f"{names.BRIDGE_DIRECTORY}/bin/python", "-m", "agents.pod.bridge", *_arguments(spec)],
        "env": _environment(spec, home=names.DATA_MOUNT),
        "securityContext": _security(ENGINE_USER),
        "resources": _resources(
            memory_bytes=memory,
            cpu=spec.limits.cpu,
            temporary_bytes=TEMPORARY_BYTES,
            backup_bytes=backup_bytes(place),
        ),
        "startupProbe": _probe(names.BRIDGE_PORT, "/healthz", period=1, failures=START_SECONDS),
        "livenessProbe": _probe(names.BRIDGE_PORT, "/healthz", period=10, failures=3),
        "readinessProbe": _probe(names.BRIDGE_PORT, "/readyz", period=2, failures=2),
        "volumeMounts": [
            {"name": "bridge", "mountPath": names.BRIDGE_DIRECTORY, "readOnly": True},
            {"name": "engine-start", "mountPath": names.START_DIRECTORY, "readOnly": True},
            {"name": "engine-run", "mountPath": names.RUN_DIRECTORY},
            {"name": "engine-tmp", "mountPath": "/tmp"},  # noqa: S108 # the container's own
            {"name": names.CLAIM, "mountPath": names.DATA_MOUNT},
        ],
    }


def _gateway(spec: PodSpec, place: Place) -> _Json:
    return {
        "name": names.GATEWAY,
        "image": place.pod_image,
        "imagePullPolicy": place.pull_policy,
        "command": ["python", "-m", "agents.pod.gateway", *_arguments(spec)],
        "env": _environment(spec, home="/tmp"),  # noqa: S108
        "ports": [
            {"name": "public", "containerPort": names.PUBLIC_PORT, "protocol": "TCP"},
            {"name": "management", "containerPort": names.MANAGEMENT_PORT, "protocol": "TCP"},
        ],
        "securityContext": _security(GATEWAY_USER),
        "resources": _resources(memory_bytes=GATEWAY_BYTES, cpu=GATEWAY_CPU, temporary_bytes=64 * MIB),
        "startupProbe": _probe(names.PUBLIC_PORT, "/healthz", period=1, failures=START_SECONDS),
        "livenessProbe": _probe(names.PUBLIC_PORT, "/healthz", period=10, failures=3),
        "readinessProbe": _probe(names.PUBLIC_PORT, "/healthz", period=2, failures=2),
        "volumeMounts": [
            {"name": "gateway-start", "mountPath": names.START_DIRECTORY, "readOnly": True},
            {"name": "gateway-run", "mountPath": names.RUN_DIRECTORY},
            {"name": "gateway-tmp", "mountPath": "/tmp"},  # noqa: S108
        ],
    }


def _arguments(spec: PodSpec) -> list[str]:
    return [
        f"--start={names.START_DIRECTORY}/{names.START_FILE}",
        f"--namespace={spec.namespace}",
        f"--home={names.RUN_DIRECTORY}",
    ]


def _environment(spec: PodSpec, *, home: str) -> list[_Json]:
    values = {
        "AGENTPODS_NAMESPACE": spec.namespace,
        "AGENTPODS_HOME": names.RUN_DIRECTORY,
        "HOME": home,
        "TMPDIR": "/tmp",  # noqa: S108
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def _security(user: int) -> _Json:
    return {
        "runAsUser": user,
        "runAsGroup": user,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def backup_bytes(place: Place) -> int:
    """Memory of an engine's container that nobody promises it: a backup needs it now and then."""
    return names.BACKUP_BYTES if place.backup_port else 0


def _resources(*, memory_bytes: int, cpu: Decimal, temporary_bytes: int, backup_bytes: int = 0) -> _Json:
    """Memory is promised whole, but for a backup's: what it is over both, the kernel ends."""
    return {
        "requests": {
            "memory": str(memory_bytes),
            "cpu": f"{int(cpu * PROMISED_CPU * 1000)}m",
            "ephemeral-storage": str(temporary_bytes // 4),
        },
        "limits": {
            "memory": str(memory_bytes + backup_bytes),
            "cpu": f"{int(cpu * 1000)}m",
            "ephemeral-storage": str(temporary_bytes),
        },
    }


def _probe(port: int, path: str, *, period: int, failures: int) -> _Json:
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period,
        "failureThreshold": failures,
        "timeoutSeconds": 3,
    }


def _volumes() -> list[_Json]:
    def secret(name: str) -> _Json:
        # Read by the group of the volumes: each is mounted into its own container alone.
        return {"name": f"{name}-start", "secret": {"secretName": name, "defaultMode": 0o440}}

    def empty(name: str, megabytes: int, **more: str) -> _Json:
        return {"name": name, "emptyDir": {"sizeLimit": f"{megabytes}Mi", **more}}

    return [
        empty("bridge", 256),
        secret(names.ENGINE_SECRET),
        secret(names.GATEWAY_SECRET),
        empty("engine-run", 16),
        empty("gateway-run", 16),
        empty("engine-tmp", 256),
        empty("gateway-tmp", 16),
        {"name": names.CLAIM, "persistentVolumeClaim": {"claimName": names.CLAIM}},
    ]
